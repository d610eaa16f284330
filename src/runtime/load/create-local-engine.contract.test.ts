import { createLocalEngine } from './create-local-engine.ts';
import { engineContract } from '../engine/testing/engine-contract.ts';

engineContract('tutor on onnx-wasm', () => createLocalEngine({ model: 'tutor', engine: 'onnx-wasm' }));
