import { randomBytes } from 'node:crypto';
import { parseChatRequest, textOf, WireError, type ChatMessage, type ChatRequest } from '../model-wire.ts';
import {
  asksToGoOn,
  Refusal,
  type Asked,
  type FakeScript,
  type Vendor,
  type WireWriter,
} from './fake-server.ts';

/** Chat Completions of a model that reasons between its calls and requires its reasoning back. */
export function chatCompletions(): Vendor {
  return {
    accepts: (method, path) => method === 'POST' && path === '/v1/chat/completions',
    error: (_status, message, code) => ({
      error: { message, type: 'invalid_request_error', param: null, code },
    }),
    read: ({ body }, script) => {
      const asked = parse(body);
      if (script.reasoning !== undefined) checkThoughts(asked.messages);
      if (script.refusesPrefill === true && asked.messages.at(-1)!.role === 'assistant') {
        throw new Refusal('This model does not support a trailing assistant message.');
      }
      return understand(asked, script);
    },
    writer: ({ body }, send) => writer((body as ChatRequest).model, send),
  };
}

function parse(body: unknown): ChatRequest {
  try {
    return parseChatRequest(JSON.stringify(body));
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    throw new Refusal(error.message, {
      status: error.status,
      ...(error.code === null ? {} : { code: error.code }),
    });
  }
}

function checkThoughts(messages: readonly ChatMessage[]): void {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  messages.forEach((each, at) => {
    if (
      at > asked &&
      each.role === 'assistant' &&
      each.tool_calls !== undefined &&
      each.reasoning_content === undefined
    ) {
      throw new Refusal(
        `Missing \`reasoning_content\` field in the assistant message at message index ${at}.`,
      );
    }
  });
}

const calls = (each: ChatMessage): boolean => each.role === 'assistant' && each.tool_calls !== undefined;

function understand({ messages, tools, tool_choice: choice }: ChatRequest, script: FakeScript): Asked {
  const last = messages.at(-1)!;
  const goesOn = last.role === 'user' && asksToGoOn(textOf(last));
  const prefilled = last.role === 'assistant';
  const base = goesOn ? messages.slice(0, -2) : prefilled ? messages.slice(0, -1) : messages;
  const question = base.findLastIndex(({ role }) => role === 'user');
  const before = goesOn ? messages.at(-2)! : prefilled ? last : null;
  return {
    round: base.slice(question + 1).filter((each) => calls(each)).length,
    prefix: before === null ? null : textOf(before),
    offers: choice === 'none' ? [] : (tools ?? []).map((each) => each.function.name),
    thinks: script.reasoning !== undefined,
  };
}

function writer(model: string, emit: (event: string | null, data: unknown) => void): WireWriter {
  const common = {
    id: `chatcmpl-${randomBytes(8).toString('hex')}`,
    object: 'chat.completion.chunk',
    created: 1_700_000_000,
    model,
  };
  const send = (delta: object, finish: string | null = null) =>
    emit(null, { ...common, choices: [{ index: 0, delta, finish_reason: finish }] });
  return {
    begin: () => send({ role: 'assistant', content: null }),
    reasoning: (text) => send({ reasoning_content: text }),
    text: (piece) => send({ content: piece }),
    call: (name, args) =>
      send({
        tool_calls: [
          {
            index: 0,
            id: `call_${randomBytes(8).toString('hex')}`,
            type: 'function',
            function: { name, arguments: JSON.stringify(args) },
          },
        ],
      }),
    end: (reason, { input, output, reasoning }) => {
      send({}, reason);
      emit(null, {
        ...common,
        choices: [],
        usage: {
          prompt_tokens: input,
          completion_tokens: output,
          total_tokens: input + output,
          prompt_tokens_details: { cached_tokens: 40 },
          completion_tokens_details: { reasoning_tokens: reasoning },
        },
      });
      emit(null, '[DONE]');
    },
  };
}
