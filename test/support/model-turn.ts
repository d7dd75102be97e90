import { createHash } from 'node:crypto';
import { chooseText } from './model-script.ts';
import type { Script, Source } from './model-script.ts';
import { textOf, WireError } from './model-wire.ts';
import type { ChatMessage, ChatRequest } from './model-wire.ts';

/**
 * The place of the prefix in a request: none, a trailing assistant message, or one followed by an
 * instruction.
 */
export type Strategy = 'fresh' | 'prefill' | 'instruct';

/** The meaning of a request, derived from its messages alone. */
export interface Asked {
  scriptName: string;
  strategy: Strategy;
  prefix: string | null;
  /** Completed tool rounds in this response. */
  round: number;
  userText: string;
  /** Equal for all attempts at one turn: a digest of the messages without prefix and instruction. */
  conversation: string;
}

const MARKER = /\[\[script:([^\]]+)\]\]/;
const CONTINUE = /\bcontinu/i;

export function readAsked({ model, messages }: ChatRequest): Asked {
  const { strategy, prefix, base } = splitPrefix(messages);
  const users = base.filter((each) => each.role === 'user').map(textOf);
  const marked = users.findLast((text) => MARKER.test(text));
  const lastUser = base.findLastIndex((each) => each.role === 'user');
  return {
    scriptName: marked === undefined ? model : MARKER.exec(marked)![1]!,
    strategy,
    prefix,
    round: base
      .slice(lastUser + 1)
      .filter((each) => each.role === 'assistant' && each.tool_calls !== undefined).length,
    userText: (users.at(-1) ?? '').replace(MARKER, '').trim(),
    conversation: createHash('sha256')
      .update(JSON.stringify([model, base]))
      .digest('hex')
      .slice(0, 16),
  };
}

/**
 * A user message after an assistant's text is an instruction to continue when it says so and names no script
 * of its own; otherwise it is the next question of a longer conversation.
 */
function splitPrefix(messages: ChatMessage[]): {
  strategy: Strategy;
  prefix: string | null;
  base: ChatMessage[];
} {
  const last = messages.at(-1)!;
  if (isPlainAnswer(last)) return { strategy: 'prefill', prefix: textOf(last), base: messages.slice(0, -1) };
  const before = messages.at(-2);
  const instructs = last.role === 'user' && CONTINUE.test(textOf(last)) && !MARKER.test(textOf(last));
  if (before !== undefined && isPlainAnswer(before) && instructs) {
    return { strategy: 'instruct', prefix: textOf(before), base: messages.slice(0, -2) };
  }
  return { strategy: 'fresh', prefix: null, base: messages };
}

function isPlainAnswer(each: ChatMessage): boolean {
  return each.role === 'assistant' && each.tool_calls === undefined;
}

export interface Call {
  id: string;
  name: string;
  arguments: string;
}

/** The output to stream: text, then optional tool calls. */
export interface Turn {
  source: Source;
  /** The offset of the text in its source. */
  from: number;
  text: string;
  calls: Call[];
}

export function planTurn(given: Script, request: ChatRequest, asked: Asked & { attempt: number }): Turn {
  const script = given.echo === undefined ? given : echoing(given, request, asked);
  if (asked.strategy === 'prefill' && script.manner === 'refuses_trailing_assistant') {
    throw new WireError(400, 'This model does not support a trailing assistant message.', {
      param: 'messages',
    });
  }
  const scripted = script.calls?.[asked.round] ?? [];
  if (scripted.length > 0) {
    const calls = scripted.map((call, index) => ({
      id: callId(asked, index),
      name: call.name,
      arguments: typeof call.arguments === 'string' ? call.arguments : JSON.stringify(call.arguments),
    }));
    return { ...chooseText(script, { source: 'commentary', prefix: asked.prefix }), calls };
  }
  const name = toolToCall(script, request, asked.round);
  const source = name === null ? 'text' : 'commentary';
  const count = name === null ? 0 : (script.callsPerRound?.[asked.round] ?? 1);
  const calls = Array.from({ length: count }, (_, index) => ({
    id: callId(asked, index),
    name: name!,
    arguments: argumentsFor(script, asked, index),
  }));
  return { ...chooseText(script, { source, prefix: asked.prefix }), calls };
}

function echoing(script: Script, { messages }: ChatRequest, asked: Asked): Script {
  const base = asked.strategy === 'instruct' ? messages.slice(0, -1) : messages;
  const said = base.filter((each) => each.role === 'user' || each.role === 'tool').map(textOf);
  const calls = script.calls?.map((round) =>
    round.map((call) => ({
      ...call,
      arguments:
        call.arguments === '$user'
          ? asked.userText
          : JSON.stringify(call.arguments).replaceAll('$user', () =>
              JSON.stringify(asked.userText).slice(1, -1),
            ),
    })),
  );
  return { ...script, text: said.join('\n'), ...(calls === undefined ? {} : { calls }) };
}

function toolToCall(
  script: Script,
  { tools = [], tool_choice: choice }: ChatRequest,
  round: number,
): string | null {
  if (choice === 'none') return null;
  if (typeof choice === 'object') return choice.function.name;
  const wanted = tools.find((each) => each.function.name === 'knowledge_search') ?? null;
  if (choice === 'required') return (wanted ?? tools[0]!).function.name;
  return round < (script.toolRounds ?? 0) ? (wanted?.function.name ?? null) : null;
}

/** Like a vendor's: never repeated, neither in another round nor in another attempt. */
function callId({ conversation, round, attempt }: Asked & { attempt: number }, index: number): string {
  const place = `${conversation}/${round}/${attempt}${index === 0 ? '' : `/${index}`}`;
  const digest = createHash('sha256').update(place).digest('base64url');
  return `call_${digest.replaceAll(/[-_]/g, '').slice(0, 24)}`;
}

function argumentsFor(script: Script, { round, userText }: Asked, index: number): string {
  const queries = typeof script.toolQuery === 'string' ? [script.toolQuery] : (script.toolQuery ?? []);
  return JSON.stringify({ query: queries[round + index] ?? queries.at(-1) ?? userText });
}
