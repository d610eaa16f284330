import { expect } from 'chai';
import { checkMagic } from './file-magic.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('checkMagic', () => {
  it('checkMagic: passes what a file of its name begins with', () => {
    checkMagic('m.gguf', bytes('GGUF\u0003\0\0\0'));
    checkMagic('m.gguf?download=true', bytes('GGUF\u0003\0\0\0'));
    checkMagic('onnx/model.onnx', Uint8Array.of(0x08, 0x0a, 0x12)); // ir_version 10, then the producer
    checkMagic('onnx/model.onnx', Uint8Array.of(0x3a, 0x80, 0x01)); // the graph
    checkMagic('config.json', bytes('{"a": "<html>"}'));
    checkMagic('empty.bin', new Uint8Array(0));
  });

  it('checkMagic: a web page is model-not-found, whatever the name', () => {
    for (const page of ['<!DOCTYPE html><html>', '  <!doctype HTML>', '\uFEFF<html lang="en">', '<?xml version="1.0"?>'])
      for (const path of ['config.json', 'm.gguf', 'model.onnx_data'])
        expect(() => checkMagic(path, bytes(page)), page).to.throw().with.property('code', 'model-not-found');
  });

  it('checkMagic: anything else that is not of its kind is model-invalid', () => {
    for (const [path, head] of [
      ['m.gguf', bytes('GGML....')],
      ['m.gguf', bytes('GG')],
      ['m.onnx', bytes('{"error": 1}')],
      ['m.onnx', new Uint8Array(0)],
      ['m.onnx', bytes('GGUF')],
      ['model.onnx_data', bytes('version https://git-lfs.github.com/spec/v1')],
    ] as const)
      expect(() => checkMagic(path, head), path).to.throw().with.property('code', 'model-invalid');
  });
});
