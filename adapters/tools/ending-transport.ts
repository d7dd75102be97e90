import {
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  StreamableHTTPClientTransport,
  type FetchLike,
  type JSONRPCMessage,
  type StreamableHTTPClientTransportOptions,
} from '@modelcontextprotocol/client';
import { isTooDeep } from '#domain/capabilities/tools/tool-definition.ts';

type SendOptions = Parameters<StreamableHTTPClientTransport['send']>[1];
type TransportOptions = StreamableHTTPClientTransportOptions & { fetch: FetchLike };

/** Used locally, never sent: no server uses this code. */
const noAnswerCode = -32_099;

/**
 * Max answers to a server's own requests on one connection: a server may ping the client, and needs nothing else. Each
 * answer is a request of its own, which the server may leave unanswered.
 */
const maxAnswers = { atOnce: 4, inAll: 600 };

/** Bounds of the delay between the end of a stream and its continuation, whatever the server asks for. */
const reconnection = { minMs: 1_000, maxMs: 60_000 };

/**
 * Streamable HTTP in which a request fails as soon as its answer can no longer come, and requests to a server are
 * limited.
 */
export class EndingTransport extends StreamableHTTPClientTransport {
  readonly #waiting = new Set<string>();
  readonly #answers = { atOnce: 0, inAll: 0 };
  /** A request ended without an answer. */
  endedSilently = false;
  /** The raw result of the last request. */
  lastResult: unknown = undefined;

  #isStream = false;
  /** The client wraps this handler and passes every message to it. */
  override onmessage = (message: JSONRPCMessage): void => this.#note(message);

  constructor(url: URL, options: TransportOptions) {
    super(url, {
      ...options,
      reconnectionScheduler: (reconnect, delayMs) => {
        const { minMs, maxMs } = reconnection;
        const timer = setTimeout(reconnect, Math.min(Math.max(delayMs, minMs), maxMs));
        return () => clearTimeout(timer);
      },
      fetch: async (to, init) => {
        const answer = await options.fetch(to, init);
        if (init?.method === 'POST') {
          this.#isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
        }
        return answer;
      },
    });
  }

  override async send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    if (!isJSONRPCRequest(message)) {
      await ('method' in message ? super.send(message, options) : this.#answer(message, options));
      return;
    }
    const { id } = message;
    this.#waiting.add(String(id));
    this.lastResult = undefined;
    const onRequestStreamEnd = () => {
      options?.onRequestStreamEnd?.();
      if (this.#waiting.has(String(id))) {
        this.endedSilently = true;
        this.onmessage?.({ jsonrpc: '2.0', id, error: { code: noAnswerCode, message: '' } });
      }
    };
    await super.send(message, { ...options, onRequestStreamEnd });
    if (!this.#isStream) {
      onRequestStreamEnd();
    }
  }

  async #answer(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    const { atOnce, inAll } = this.#answers;
    if (atOnce >= maxAnswers.atOnce || inAll >= maxAnswers.inAll) {
      return;
    }
    this.#answers.atOnce += 1;
    this.#answers.inAll += 1;
    try {
      await super.send(message, options);
    } finally {
      this.#answers.atOnce -= 1;
    }
  }

  #note(message: JSONRPCMessage): void {
    const isAnswer = 'id' in message && message.id !== undefined && !('method' in message);
    if (isAnswer && this.#waiting.delete(String(message.id)) && isJSONRPCResultResponse(message)) {
      this.lastResult = message.result;
      leaveOutDeepTools(message.result);
    }
  }
}

/**
 * A tool whose schema the client cannot traverse would hide all other tools. It loses its name: then it is counted and
 * not stored.
 */
function leaveOutDeepTools(result: Record<string, unknown>): void {
  if (Array.isArray(result['tools'])) {
    const nameless = { name: '', inputSchema: { type: 'object' } };
    result['tools'] = result['tools'].map((tool: unknown) =>
      Object.values(Object(tool)).some(isTooDeep) ? nameless : tool,
    );
  }
}
