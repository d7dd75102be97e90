import { LRUCache } from 'lru-cache';
import type { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { JsonApi } from '../shared/json-api.ts';
import { SlackError } from './failure.ts';
import { withoutSlashes } from '../shared/web-url.ts';
import {
  answer,
  channelInfo,
  channels,
  messages,
  userInfo,
  workspace,
  type Channel,
  type Message,
} from './wire.ts';

const channelsAtOnce = 200;
const messagesAtOnce = 100;
const maxPages = 200;

/** The methods of Slack that are called. */
export class SlackClient {
  readonly #api: JsonApi;
  readonly #users = new LRUCache<string, string>({ max: 5_000 });
  #workspace: string | null = null;

  constructor(apiUrl: string, access: SourceAccess) {
    this.#api = new JsonApi(access, { base: apiUrl });
  }

  /** The address of the workspace. */
  async workspace(signal: AbortSignal): Promise<string> {
    return this.#workspace ?? this.authenticate(signal);
  }

  /** Asks whether the token is valid. */
  async authenticate(signal: AbortSignal): Promise<string> {
    const { url } = await this.#call('auth.test', {}, workspace, signal);
    this.#workspace = withoutSlashes(url);
    return this.#workspace;
  }

  async channel(id: string, signal: AbortSignal): Promise<Channel> {
    return (await this.#call('conversations.info', { channel: id }, channelInfo, signal)).channel;
  }

  /** All of the workspace, with those that are archived. */
  async publicChannels(signal: AbortSignal): Promise<Channel[]> {
    const found: Channel[] = [];
    let cursor = '';
    for (let pages = 0; pages === 0 || cursor !== ''; pages += 1) {
      if (pages >= maxPages) {
        throw new SourceFailure('source_invalid', 'The list of channels has no end.');
      }
      const fields = { types: 'public_channel', limit: channelsAtOnce, cursor };
      const page = await this.#call('conversations.list', fields, channels, signal);
      found.push(...page.channels.filter((each) => each.is_private !== true));
      cursor = page.response_metadata?.next_cursor ?? '';
    }
    return found;
  }

  /** Messages between two times, the newest first; both belong to it where `inclusive`. */
  async history(
    channel: string,
    between: { oldest: string; latest: string; inclusive: boolean },
    signal: AbortSignal,
  ): Promise<{ messages: Message[]; hasMore: boolean }> {
    const { oldest, latest, inclusive } = between;
    const fields = { channel, oldest, latest, inclusive: String(inclusive), limit: messagesAtOnce };
    const page = await this.#call('conversations.history', fields, messages, signal);
    const last = page.messages.at(-1);
    const hasMore = page.has_more === true;
    const isStuck = last === undefined || (Number(last.ts) >= Number(latest) && !inclusive);
    if (hasMore && isStuck) {
      throw new SourceFailure('source_invalid', 'The history of a channel does not come to an end.');
    }
    return { messages: page.messages, hasMore };
  }

  /** A thread from its first message on; null: its texts have more than `maxLength` characters. */
  async thread(
    channel: string,
    ts: string,
    maxLength: number,
    signal: AbortSignal,
  ): Promise<Message[] | null> {
    const found = new Map<string, Message>();
    let cursor = '';
    let length = 0;
    for (let pages = 0; pages === 0 || cursor !== ''; pages += 1) {
      const fields = { channel, ts, limit: messagesAtOnce, cursor };
      const page = await this.#call('conversations.replies', fields, messages, signal);
      for (const each of page.messages) {
        length += found.has(each.ts) ? 0 : each.text.length;
        found.set(each.ts, each);
      }
      if (length > maxLength || pages >= maxPages) {
        return null;
      }
      cursor = page.response_metadata?.next_cursor ?? '';
    }
    return [...found.values()];
  }

  /** How a person is shown; the id of one who is not known. */
  async userName(id: string, signal: AbortSignal): Promise<string> {
    const known = this.#users.get(id);
    if (known !== undefined) {
      return known;
    }
    const name = await this.#call('users.info', { user: id }, userInfo, signal).then(
      ({ user }) => user.profile?.display_name || user.real_name || user.name || id,
      (error: unknown) => {
        if (error instanceof SlackError && error.code !== 'rate_limited') {
          return id;
        }
        throw error;
      },
    );
    this.#users.set(id, name);
    return name;
  }

  async #call<T>(
    method: string,
    fields: Record<string, string | number>,
    schema: z.ZodType<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const given = Object.entries(fields).filter(([, value]) => value !== '');
    const query = new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]));
    const made = await this.#api.get(`/${method}?${query.toString()}`, answer, { signal });
    if (!made.ok) {
      throw new SlackError(made.error ?? '');
    }
    const parsed = schema.safeParse(made);
    if (!parsed.success) {
      throw new SourceFailure('source_invalid', 'Slack does not answer as its interface is documented.');
    }
    return parsed.data;
  }
}
