import { kvContract } from '../testing/kv-contract.ts';
import { createOnnxBackend } from './create-onnx-backend.ts';
import { TINY, tinySource } from './testing/tiny-model.ts';

const promptTokens = Array.from({ length: 100 }, (_, index) => (index * 37 + 11) % TINY.vocab);

kvContract('onnx-wasm', () => createOnnxBackend({ source: tinySource(), device: 'wasm' }), { promptTokens });

// Few tokens: a step takes 50 to 150 ms on a software adapter.
kvContract('onnx-webgpu', () => createOnnxBackend({ source: tinySource({ layers: 1 }), device: 'webgpu' }), {
  promptTokens,
  tokens: 2,
});
