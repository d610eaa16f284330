import { locateOrtParts } from './worker/locate-ort.ts';
import { addPartUrls } from './shared/parts.ts';

/**
 * `import 'tokenglass/onnx'`: the engine `onnx-webgpu` can be loaded. Its two builds of onnxruntime-web (11 MB, of which a visitor fetches
 * one) are deployed only by pages that import this entry.
 */
addPartUrls(locateOrtParts());
