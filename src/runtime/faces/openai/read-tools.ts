import { check, invalid } from '../../../shared/check.ts';
import { unsupported } from './api-error.ts';
import type { Fields } from './read-common.ts';

/** A tool that the model may call. */
export interface Tool {
  name: string;
  /** JSON Schema of the arguments. */
  parameters?: Readonly<Record<string, unknown>>;
  /** As it was given, for the chat template. */
  definition: Readonly<Record<string, unknown>>;
}

/** The tools of a request, and whether the model has to call one. */
export interface ToolUse {
  tools: readonly Tool[];
  /** The model must call one of these and say nothing else. */
  forced: readonly Tool[];
  /** Calls after the first are left out. */
  single: boolean;
}

const MAX_TOOLS = 128;

/** @returns nothing if there are no tools, or none may be called */
export function readTools(fields: Fields): ToolUse | undefined {
  const { tools: given, tool_choice: choice, parallel_tool_calls: parallel } = fields;
  const single = parallel !== undefined && !check.optionalBoolean(parallel, 'parallel_tool_calls');
  if (given === undefined) {
    if (choice !== undefined && choice !== 'none' && choice !== 'auto')
      throw invalid('tool_choice', 'is given without tools', 'give tools, or leave it out');
    return undefined;
  }
  const tools = check.array(given, 'tools', 1, MAX_TOOLS).map((item, index) => readTool(item, `tools[${index}]`));
  const forced = readChoice(choice, tools);
  return forced ? { tools, forced, single } : undefined;
}

function readTool(value: unknown, field: string): Tool {
  const tool = check.plainObject(value, field);
  if (tool['type'] !== 'function') {
    if (tool['type'] === 'custom') throw unsupported(`${field}.type`, 'use function');
    throw invalid(`${field}.type`, 'is not "function"', 'use function');
  }
  const definition = check.object(tool['function'], `${field}.function`);
  const name = check.text(definition['name'], `${field}.function.name`);
  if (!/^[\w.-]{1,64}$/.test(name))
    throw invalid(`${field}.function.name`, 'is no name', 'use at most 64 letters, digits, _, - and dots');
  const { description, parameters } = definition;
  if (description !== undefined) check.text(description, `${field}.function.description`);
  return {
    name,
    ...(parameters !== undefined &&
      parameters !== null && { parameters: check.object(parameters, `${field}.function.parameters`) }),
    definition: tool,
  };
}

/** Tools that are forced, none for "auto"; nothing for "none". */
function readChoice(choice: unknown, tools: readonly Tool[]): readonly Tool[] | undefined {
  if (choice === undefined || choice === 'auto') return [];
  if (choice === 'none') return undefined;
  if (choice === 'required') return tools;
  if (typeof choice === 'string')
    throw invalid(
      'tool_choice',
      `is ${JSON.stringify(choice.slice(0, 40))}`,
      'use none, auto or required, or name a function',
    );
  const named = check.object(choice, 'tool_choice');
  if (named['type'] !== 'function') throw unsupported('tool_choice.type', 'use function');
  const name = check.text(check.object(named['function'], 'tool_choice.function')['name'], 'tool_choice.function.name');
  const tool = tools.find((candidate) => candidate.name === name);
  if (!tool) throw invalid('tool_choice.function.name', 'is none of the tools', 'name one of them');
  return [tool];
}
