import type { Answer, Sender } from './gateway.ts';

/** A browser in which popups are open: it keeps cookies, and follows nothing by itself. */
export class Popup {
  readonly #sender: Sender;
  readonly #cookies = new Map<string, string>();
  #callback = '/api/v1/mcp-auth/callback';

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /** Where the authorization server of the last request leads back to. */
  get callback(): string {
    return this.#callback;
  }

  get cookie(): string {
    return [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }

  /** From now on it sends its cookie under the name of another browser's, as any browser can. */
  takeNameOf(other: Popup): void {
    const [value = ''] = this.#cookies.values();
    const [name = ''] = other.#cookies.keys();
    this.#cookies.set(name, value);
  }

  /** Opens an address of the platform. */
  open(address: string): Promise<Answer> {
    return this.#send('GET', address);
  }

  /** Sends the form of the popup's page. */
  async answer(page: string, decision: 'continue' | 'cancel'): Promise<Answer> {
    const { action, fields } = formIn(page);
    const answer = await this.#send('POST', action, new URLSearchParams({ ...fields, decision }).toString());
    const next = URL.parse(answer.headers['location'] ?? '');
    this.#callback = next?.searchParams.get('redirect_uri') ?? this.#callback;
    return answer;
  }

  /** Opens the popup and answers its question; the address that it leads to. */
  async decide(popupUrl: string, decision: 'continue' | 'cancel'): Promise<URL> {
    const answer = await this.answer((await this.open(popupUrl)).text, decision);
    if (answer.status !== 303) {
      throw new Error(`The popup answered ${answer.status}: ${answer.text}`);
    }
    return new URL(answer.headers['location'] ?? '');
  }

  /**
   * The authorization server sends the browser back; the address that the callback leads to.
   * @param callback that of the last authorization request, when not given
   */
  async comeBack(query: Record<string, string>, callback = this.#callback): Promise<Answer> {
    return this.open(`${callback}?${new URLSearchParams(query).toString()}`);
  }

  async #send(method: string, address: string, body?: string): Promise<Answer> {
    const url = new URL(address, 'http://platform');
    const answer = await this.#sender.send({
      method,
      path: `${url.pathname.replace(/^\/api/, '')}${url.search}`,
      headers: {
        accept: 'text/html',
        ...(this.cookie === '' ? {} : { cookie: this.cookie }),
        ...(body === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    const set = answer.headers['set-cookie'] as string | string[] | undefined;
    for (const cookie of set === undefined ? [] : [set].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return answer;
  }
}

/** The form of the popup's page. */
export function formIn(page: string): { action: string; fields: Record<string, string> } {
  const [, action = ''] = /<form method="post" action="([^"]*)"/.exec(page) ?? [];
  const inputs = page.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g);
  return { action, fields: Object.fromEntries([...inputs].map(([, name, value]) => [name, value])) };
}
