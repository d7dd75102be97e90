import { parseHTML } from 'linkedom';

/** The part of a browser that a journey needs. */
export interface Visitor {
  open(url: string): Promise<void>;
  /** Presses the button of a form with this text. */
  press(text: string): Promise<void>;
  textOf(selector: string): Promise<string>;
  url(): string;
  close(): Promise<void>;
}

const maxHops = 10;

/** A browser without scripts: cookies by host, redirects, and forms by their HTML. */
export class CookieClient implements Visitor {
  readonly #jars = new Map<string, Map<string, string>>();
  #url = 'about:blank';
  #document = parseHTML('<html></html>').document;

  async open(url: string): Promise<void> {
    await this.#load(url, {});
  }

  async press(text: string): Promise<void> {
    const buttons = [...this.#document.querySelectorAll('form button')];
    const button = buttons.find((each) => each.textContent?.includes(text));
    const form = button?.closest('form');
    if (button === undefined || form == null) {
      throw new Error(`There is no button ${text} at ${this.#url}.`);
    }
    const action = new URL(form.getAttribute('action') ?? this.#url, this.#url);
    const body = new URLSearchParams({ [button.getAttribute('name')!]: button.getAttribute('value')! });
    await this.#load(action.href, { method: 'POST', body });
  }

  async textOf(selector: string): Promise<string> {
    const found = this.#document.querySelector(selector);
    if (found === null) {
      throw new Error(`There is no ${selector} at ${this.#url}: ${this.#document.body.textContent}`);
    }
    return found.textContent ?? '';
  }

  url(): string {
    return this.#url;
  }

  async close(): Promise<void> {
    this.#jars.clear();
  }

  async #load(from: string, init: RequestInit): Promise<void> {
    let url = from;
    let request = init;
    for (let hop = 0; hop < maxHops; hop += 1) {
      // By host name alone, as browsers keep them.
      const { hostname } = new URL(url);
      const jar = this.#jars.get(hostname) ?? new Map<string, string>();
      this.#jars.set(hostname, jar);
      const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
      const response = await fetch(url, {
        ...request,
        redirect: 'manual',
        headers: { accept: 'text/html,*/*;q=0.8', ...(cookie === '' ? {} : { cookie }) },
      });
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
        const gone = value === '' || /expires=Thu, 01 Jan 1970/i.test(line);
        if (gone) jar.delete(name);
        else jar.set(name, value);
      }
      const location = response.headers.get('location');
      const text = await response.text();
      if (location === null) {
        this.#url = url;
        this.#document = parseHTML(text).document;
        return;
      }
      url = new URL(location, url).href;
      request = {};
    }
    throw new Error(`More than ${maxHops} redirects from ${from}.`);
  }
}
