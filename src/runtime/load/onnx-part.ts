/** What the engines on onnxruntime-web need and no other does: a part that the library build makes a file of its own. */
export { addPartUrls } from '../../shared/parts.ts';
export { createOnnxBackend } from '../backends/onnx/create-onnx-backend.ts';
export { loadHubText } from './hub-text.ts';
