import { expect } from 'chai';
import { shareKey } from './share-key.ts';

describe('shareKey', () => {
  it('shareKey: equal options have equal keys in whatever order, others have others, and a token is no part of it', () => {
    const key = shareKey({ model: 'tutor', engine: 'webgpu', assets: { tutorBaseUrl: '/a', ortBaseUrl: '/b' } });
    expect(shareKey({ assets: { ortBaseUrl: '/b', tutorBaseUrl: '/a' }, engine: 'webgpu', model: 'tutor' })).to.equal(
      key,
    );
    const others = [
      { model: 'tutor' },
      { model: 'tutor', contextTokens: 512 },
      { model: 'tutor', hub: { baseUrl: 'http://mirror' } },
      { model: { files: [new File(['ab'], 'a.gguf', { lastModified: 1 })] } },
      { model: { files: [new File(['abc'], 'a.gguf', { lastModified: 1 })] } },
    ] as const;
    expect(new Set(others.map((options) => shareKey(options)))).to.have.property('size', others.length);
    expect(shareKey({ model: 'hf:a/b', hub: { token: 'secret' } })).to.equal(shareKey({ model: 'hf:a/b' }));
  });
});
