import type { Answer, Sender } from './gateway.ts';

/** A browser in which a popup is open: it keeps the cookie, and follows nothing by itself. */
export class Popup {
  readonly #sender: Sender;
  #cookie: string | undefined;
  #callback = '/api/v1/mcp-auth/callback';

  constructor(sender: Sender) {
    this.#sender = sender;
  }

  /** Where the authorization server of the last request leads back to. */
  get callback(): string {
    return this.#callback;
  }

  get cookie(): string {
    return this.#cookie ?? '';
  }

  /** Opens an address of the platform. */
  async open(address: string): Promise<Answer> {
    const url = new URL(address, 'http://platform');
    const answer = await this.#sender.send({
      method: 'GET',
      path: `${url.pathname.replace(/^\/api/, '')}${url.search}`,
      headers: { accept: 'text/html', ...(this.#cookie === undefined ? {} : { cookie: this.#cookie }) },
    });
    const set = answer.headers['set-cookie'] as string | string[] | undefined;
    const [cookie] = typeof set === 'string' ? [set] : (set ?? []);
    this.#cookie = cookie?.split(';')[0] ?? this.#cookie;
    return answer;
  }

  /** Opens the popup and answers its question; the address that it leads to. */
  async decide(popupUrl: string, decision: 'continue' | 'cancel'): Promise<URL> {
    const answer = await this.open(linkIn((await this.open(popupUrl)).text, decision));
    if (answer.status !== 303) {
      throw new Error(`The popup answered ${answer.status}: ${answer.text}`);
    }
    const address = new URL(answer.headers['location'] ?? '');
    this.#callback = address.searchParams.get('redirect_uri') ?? this.#callback;
    return address;
  }

  /**
   * The authorization server sends the browser back; the address that the callback leads to.
   * @param callback that of the last authorization request, when not given
   */
  async comeBack(query: Record<string, string>, callback = this.#callback): Promise<Answer> {
    return this.open(`${callback}?${new URLSearchParams(query).toString()}`);
  }
}

/** The address of a link of the popup's page. */
export function linkIn(page: string, id: string): string {
  const [, link = ''] = new RegExp(`<a id="${id}" href="([^"]*)"`).exec(page) ?? [];
  return link.replaceAll('&amp;', '&');
}
