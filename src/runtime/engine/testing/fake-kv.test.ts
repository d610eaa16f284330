import { kvContract } from '../../backends/testing/kv-contract.ts';
import { FakeBackend } from './fake-backend.ts';

kvContract('fake', () => Promise.resolve(new FakeBackend({ capabilities: { kvExport: true } })), {
  promptTokens: Array.from({ length: 100 }, (_, index) => 32 + ((index * 7) % 90)),
});
