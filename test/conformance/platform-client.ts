import { setTimeout as sleep } from 'node:timers/promises';
import type { ResponseRecord } from '#domain/responses/record/response-record.ts';
import type { Answer, Sender } from '../support/gateway.ts';
import type { Server } from '../support/tool-world.ts';
import { Popup } from '../support/popup.ts';

export interface Platform {
  url: string;
  spaceId: string;
  apiKey: string;
}

export type CalledTool = ResponseRecord['output'][number];

const maxWaitMs = 20_000;

/** A client of the running product: REST with an API key, and a browser for the popup. */
export class PlatformClient {
  readonly #platform: Platform;

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  async send(method: string, path: string, body?: object): Promise<Answer['body']> {
    const answer = await this.#fetch(method, path, body);
    if (answer.status >= 300) {
      throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`);
    }
    return answer.body.data;
  }

  inSpace(method: string, path: string, body?: object): Promise<Answer['body']> {
    return this.send(method, `/v1/spaces/${this.#platform.spaceId}/${path}`, body);
  }

  /** Registers the server, and waits until its tools were asked for. */
  async register(url: string, more: object): Promise<Server> {
    const body = { slug: 'suite', display_name: 'Suite', url, ...more };
    return this.settled(await this.inSpace('POST', 'mcp-servers', body));
  }

  /** The server after the discovery that has begun. */
  async settled({ mcp_server_config_id: id, last_checked_at: before }: Server): Promise<Server> {
    for (const deadline = Date.now() + maxWaitMs; Date.now() < deadline; await sleep(50)) {
      const server = (await this.inSpace('GET', `mcp-servers/${id}`)) as Server;
      if (server.last_checked_at !== before) {
        return server;
      }
    }
    throw new Error('The tools of the server were not read in time.');
  }

  /** The server once its tools were read with the account; null: the account has to be connected again. */
  async usable({ mcp_server_config_id: id }: Server): Promise<Server | null> {
    for (const deadline = Date.now() + maxWaitMs; Date.now() < deadline; await sleep(50)) {
      const server = (await this.inSpace('GET', `mcp-servers/${id}`)) as Server;
      if (server.status === 'connected') {
        return server;
      }
      const { status } = await this.inSpace('GET', `mcp-servers/${id}/connection`);
      if (status !== 'connected') {
        return null;
      }
    }
    throw new Error('The tools of the server were not read with the account in time.');
  }

  /** A person's part and that of the browser, without a click. @returns why there is no connection; null: there is one */
  async connect({ mcp_server_config_id: id }: Server): Promise<string | null> {
    const done = encodeURIComponent(`${this.#platform.url}/api/v1/mcp-auth/done`);
    const begun = await this.#fetch('POST', `/v1/mcp-auth/${id}/initiate?redirect_uri=${done}`);
    if (begun.status !== 200) {
      return begun.text;
    }
    const popup = new Popup(this.#browser());
    const consent = await popup.decide(begun.body.data.popup_url, 'continue');
    const returned = await fetch(consent, { redirect: 'manual' });
    await returned.body?.cancel();
    const back = await popup.open(returned.headers.get('location') ?? '');
    const ended = URL.parse(back.headers['location'] ?? '')?.searchParams;
    const handle = ended?.get('handle');
    if (back.status !== 303 || handle == null) {
      return `The popup ended with ${back.status} ${ended?.get('error')}.`;
    }
    const completed = await this.#fetch('POST', '/v1/mcp-auth/complete', { handle });
    return completed.status === 200 ? null : completed.text;
  }

  /** A response whose scripted model, the space's own, calls one tool with these arguments. */
  async callTool(tool: string, given: object): Promise<CalledTool> {
    const body = { input: { text: `[[script:${tool}]] ${JSON.stringify(given)}` } };
    const path = `/v1/spaces/${this.#platform.spaceId}/responses`;
    const answer = await this.#fetch('POST', path, body, { prefer: 'wait=30' });
    const called = (answer.body?.data?.output ?? answer.body?.output)?.[0] as CalledTool | undefined;
    if (called === undefined) {
      throw new Error(`The response called no tool: ${answer.text}`);
    }
    return called;
  }

  #fetch(method: string, path: string, body?: object, headers: Record<string, string> = {}): Promise<Answer> {
    const key = { 'x-api-key': this.#platform.apiKey, 'content-type': 'application/json' };
    return request(`${this.#platform.url}/api${path}`, {
      method,
      headers: { ...key, ...headers },
      ...(method === 'GET' ? {} : { body: JSON.stringify(body ?? {}) }),
    });
  }

  #browser(): Sender {
    return {
      send: ({ method, path, headers = {}, body }) =>
        request(`${this.#platform.url}/api${path}`, {
          method,
          headers,
          redirect: 'manual',
          ...(typeof body === 'string' ? { body } : {}),
        }),
    };
  }
}

async function request(url: string, init: RequestInit): Promise<Answer> {
  const answer = await fetch(url, init);
  const text = await answer.text();
  const [cookie] = answer.headers.getSetCookie();
  const headers = { ...Object.fromEntries(answer.headers), 'set-cookie': cookie };
  return { status: answer.status, headers, text, body: text.startsWith('{') ? JSON.parse(text) : null };
}
