import type {} from 'tokenglass/vue';
import type { GlobalComponents } from 'vue';

type Chat = InstanceType<GlobalComponents['tg-chat']>;

export const props: Chat['$props'] = { systemPrompt: 'Be brief.', 'max-tokens': 3, class: 'chat' };
// @ts-expect-error a number is no prompt
export const wrong: Chat['$props'] = { systemPrompt: 5 };

export function tell(chat: Chat, event: HTMLElementEventMap['tg-tokens']): void {
  chat.$emit('tg-tokens', event);
}
