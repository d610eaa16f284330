import type { ChatMessage, ChatRole } from '../../../shared/generation.ts';
import { check, invalid } from '../../../shared/check.ts';
import { unsupported } from './api-error.ts';
import { readFields, type Fields } from './read-common.ts';

const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool']);
const MAX_MESSAGES = 16_384;
const MAX_PARTS = 1024;
const MAX_CALLS = 128;

/** Fields of any message; those of one role are refused in another. */
const FIELDS: Readonly<Record<string, readonly ChatRole[]>> = {
  name: ['system', 'developer', 'user', 'assistant', 'tool'],
  tool_calls: ['assistant'],
  reasoning_content: ['assistant'],
  tool_call_id: ['tool'],
};

/** Chat turns of the API as the engine has them. @throws TokenglassError `invalid-request`, `unsupported` */
export function readMessages(value: unknown): ChatMessage[] {
  const namesOfCalls = new Map<string, string>();
  return check.array(value, 'messages', 1, MAX_MESSAGES).map((item, index) => {
    const field = `messages[${index}]`;
    const message = readFields(check.object(item, field));
    const { role } = message;
    if (!ROLES.has(role)) throw invalid(`${field}.role`, describeRole(role), `use one of ${[...ROLES].join(', ')}`);
    return readMessage(message, role as ChatRole, field, namesOfCalls);
  });
}

function readMessage(message: Fields, role: ChatRole, field: string, namesOfCalls: Map<string, string>): ChatMessage {
  refuseFields(message, role, field);
  const templateFields: Record<string, unknown> = {};
  for (const name of ['name', 'reasoning_content', 'tool_call_id']) {
    if (message[name] !== undefined) templateFields[name] = check.text(message[name], `${field}.${name}`);
  }
  const calls = message['tool_calls'];
  if (calls !== undefined) templateFields['tool_calls'] = readToolCalls(calls, `${field}.tool_calls`, namesOfCalls);
  if (role === 'tool') {
    const id = check.text(message['tool_call_id'], `${field}.tool_call_id`);
    // Templates of some families name the function that answers, which OpenAI's API leaves to the id.
    const name = namesOfCalls.get(id);
    if (name !== undefined) templateFields['name'] ??= name;
  }
  // A turn that calls tools may have no words of its own.
  const isWordless = message['content'] === undefined && calls !== undefined;
  return {
    role,
    content: isWordless ? '' : readContent(message['content'], `${field}.content`),
    ...(Object.keys(templateFields).length > 0 && { templateFields }),
  };
}

function refuseFields(message: Fields, role: ChatRole, field: string): void {
  for (const [name, value] of Object.entries(message)) {
    if (name === 'role' || name === 'content') continue;
    // An answer of ours or OpenAI's may come back as it was: `annotations` is an empty list there.
    if (name === 'annotations' && Array.isArray(value) && value.length === 0) continue;
    if (name === 'audio' || name === 'refusal' || name === 'function_call')
      throw unsupported(`${field}.${name}`, 'leave it out');
    if (FIELDS[name]?.includes(role) !== true || !Object.hasOwn(FIELDS, name))
      throw invalid(`${field}.${name.slice(0, 40)}`, `is not known in a turn of the role ${role}`, 'leave it out');
  }
}

/** Text parts are joined as they are. */
function readContent(value: unknown, field: string): string {
  if (!Array.isArray(value)) return check.text(value, field);
  const parts = check.array(value, field, 1, MAX_PARTS).map((item, index) => {
    const part = check.object(item, `${field}[${index}]`);
    const type = check.text(part['type'], `${field}[${index}].type`);
    if (type !== 'text') throw unsupported(`${field}[${index}].type`, 'give parts of the type text');
    return check.text(part['text'], `${field}[${index}].text`);
  });
  return parts.join('');
}

function readToolCalls(value: unknown, field: string, namesOfCalls: Map<string, string>): unknown[] {
  return check.array(value, field, 1, MAX_CALLS).map((item, index) => {
    const at = `${field}[${index}]`;
    const call = check.object(item, at);
    const id = check.text(call['id'], `${at}.id`);
    if (call['type'] !== undefined && call['type'] !== 'function') throw unsupported(`${at}.type`, 'use function');
    const called = check.object(call['function'], `${at}.function`);
    const name = check.text(called['name'], `${at}.function.name`);
    namesOfCalls.set(id, name);
    return {
      id,
      type: 'function',
      function: { name, arguments: check.text(called['arguments'], `${at}.function.arguments`) },
    };
  });
}

const describeRole = (role: unknown): string =>
  typeof role === 'string'
    ? `is ${JSON.stringify(role.slice(0, 40))}`
    : `is ${role === undefined ? 'missing' : 'no string'}`;
