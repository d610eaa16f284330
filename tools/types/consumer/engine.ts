import { createEngine, isTokenglassError, type Engine, type GenerateRequest } from 'tokenglass';
import { planArrivals } from 'tokenglass/bench';
import { TgDashboard } from 'tokenglass/dashboard';
import { ttft } from 'tokenglass/metrics';
import { TgChat } from 'tokenglass/ui';
import 'tokenglass/worker';

export { planArrivals };

export async function ask(request: GenerateRequest): Promise<number | undefined> {
  const engine: Engine = await createEngine({
    model: 'tutor',
    engine: 'auto',
    onProgress: ({ phase }) => console.log(phase),
  });
  const chat: TgChat = document.createElement('tg-chat');
  const dashboard: TgDashboard = document.createElement('tg-dashboard');
  chat.engine = dashboard.engine = engine;
  chat.addEventListener('tg-request-end', ({ text, trace }) => console.log(text, trace && ttft(trace)));
  try {
    for await (const event of engine.generate(request)) if (event.type === 'end') return event.usage.completionTokens;
    return undefined;
  } catch (error) {
    if (isTokenglassError(error, 'context-overflow')) return undefined;
    throw error;
  } finally {
    await engine.dispose();
  }
}
