import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import { startHttpFake } from './http-fake.ts';
import type { FakeSource } from './source-contract.ts';

interface FakeMessage {
  channel: string;
  ts: string;
  text: string;
  user: string | null;
  subtype: string | null;
  /** Of the first message of the thread to which it belongs. */
  thread: string | null;
  editedTs: string | null;
}

export interface SlackServer extends FakeSource {
  messages: FakeMessage[];
  channels: { id: string; name: string; is_member: boolean; is_private: boolean; is_archived?: boolean }[];
  users: Map<string, string>;
  say(text: string, more?: Partial<FakeMessage> & { at?: number }): FakeMessage;
  asked: string[];
  /** Of a message with replies a tombstone is left, as long as there are any. */
  erase(message: FakeMessage): void;
  /** An app leaves a channel that is archived, and cannot be invited again. */
  archive(id: string): void;
  /** The next answers are these errors. */
  fail(...errors: string[]): void;
}

/** The methods of Slack that the provider calls, in their documented form. */
export async function startSlack(): Promise<SlackServer> {
  const messages: FakeMessage[] = [];
  const channels: SlackServer['channels'] = [
    { id: 'C0GENERAL', name: 'general', is_member: true, is_private: false },
  ];
  const users = new Map([['U0ANNA', 'Anna']]);
  const asked: string[] = [];
  const failures: string[] = [];
  let token = 'xoxb-first';
  let made = 0;
  const begin = Math.floor(Date.now() / 1_000) - 3_600;
  const escape = (text: string) =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const ok = (value: object) => Response.json({ ok: true, ...value });
  const no = (error: string) => Response.json({ ok: false, error });
  const repliesTo = ({ channel, ts }: FakeMessage) =>
    messages.filter((each) => each.channel === channel && each.thread === ts && each.ts !== ts);

  const shown = (message: FakeMessage) => {
    const replies = repliesTo(message);
    return {
      type: 'message',
      ts: message.ts,
      text: message.text,
      ...(message.user !== null && { user: message.user }),
      ...(message.subtype !== null && { subtype: message.subtype }),
      ...(message.editedTs !== null && { edited: { user: message.user, ts: message.editedTs } }),
      ...(message.thread !== null && { thread_ts: message.thread }),
      ...(replies.length > 0 && {
        thread_ts: message.ts,
        reply_count: replies.length,
        latest_reply: replies.at(-1)?.ts,
      }),
    };
  };

  const answer = (request: Request): Response => {
    const { pathname, searchParams: query } = new URL(request.url);
    const method = pathname.replace('/api/', '');
    asked.push(method);
    if (request.headers.get('authorization') !== `Bearer ${token}`) return no('invalid_auth');
    const failure = failures.shift();
    if (failure !== undefined) return no(failure);
    const limit = Number(query.get('limit') ?? 100);
    const cursor = query.get('cursor');
    const from = cursor === null ? 0 : Number(cursor.replace(/^next:/, ''));
    if (!Number.isInteger(from)) return no('invalid_cursor');
    const next = (more: boolean) => ({
      response_metadata: { next_cursor: more ? `next:${from + limit}` : '' },
    });
    const channel = channels.find(
      (each) => each.id === query.get('channel') && (!each.is_private || each.is_member),
    );
    switch (method) {
      case 'auth.test':
        return ok({ url: 'https://acme.slack.example/', team: 'Acme', user_id: 'U0APP' });
      case 'conversations.list': {
        const types = query.get('types')?.split(',') ?? [];
        const isVisible = (each: (typeof channels)[number]) =>
          (!each.is_private || each.is_member) &&
          (query.get('exclude_archived') !== 'true' || each.is_archived !== true);
        const all = channels.filter(
          (each) => isVisible(each) && types.includes(each.is_private ? 'private_channel' : 'public_channel'),
        );
        return ok({ channels: all.slice(from, from + limit), ...next(from + limit < all.length) });
      }
      case 'conversations.info':
        return channel === undefined ? no('channel_not_found') : ok({ channel });
      case 'users.info': {
        const name = users.get(query.get('user') ?? '');
        return name === undefined
          ? no('user_not_found')
          : ok({ user: { name, profile: { display_name: name } } });
      }
    }
    if (channel === undefined) return no('channel_not_found');
    if (!channel.is_member) return no('not_in_channel');
    const within = messages.filter((each) => each.channel === channel.id);
    if (method === 'conversations.history') {
      const [oldest, latest] = [Number(query.get('oldest') ?? 0), Number(query.get('latest') ?? Infinity)];
      const isInclusive = query.get('inclusive') === 'true';
      const all = within
        .filter(({ ts, thread, subtype }) => {
          const time = Number(ts);
          const isBetween = isInclusive ? time >= oldest && time <= latest : time > oldest && time < latest;
          return isBetween && (thread === null || thread === ts || subtype === 'thread_broadcast');
        })
        .sort((a, b) => Number(b.ts) - Number(a.ts));
      // With `oldest` alone, Slack answers with the messages that are next to it; also these come newest first.
      const isForward = query.has('oldest') && !query.has('latest');
      return ok({
        messages: (isForward ? all.slice(-limit) : all.slice(0, limit)).map(shown),
        has_more: all.length > limit,
        ...next(all.length > limit),
      });
    }
    if (method === 'conversations.replies') {
      const first = within.find(({ ts }) => ts === query.get('ts'));
      if (first === undefined) return no('thread_not_found');
      const replies = repliesTo(first);
      // The first message comes with every page.
      const page = [first, ...replies.slice(from, from + limit)];
      return ok({
        messages: page.map(shown),
        has_more: from + limit < replies.length,
        ...next(from + limit < replies.length),
      });
    }
    return no('unknown_method');
  };
  const fake = await startHttpFake(answer);
  const value = (): CredentialValue => ({ kind: 'bearer', token });
  const say = (text: string, { at, ...more }: Partial<FakeMessage> & { at?: number } = {}): FakeMessage => {
    made += 1;
    const message: FakeMessage = {
      channel: 'C0GENERAL',
      ts: `${at ?? begin + made}.${String(made).padStart(6, '0')}`,
      text: escape(text),
      user: 'U0ANNA',
      subtype: null,
      thread: null,
      editedTs: null,
      ...more,
    };
    messages.push(message);
    return message;
  };
  const current = (name: string) =>
    messages.find(({ text, thread, ts }) => thread === ts && text === escape(name));
  const edit = (message: FakeMessage, text: string) => {
    made += 1;
    Object.assign(message, { text: escape(text), editedTs: `${begin + made}.000000` });
  };
  return {
    ...fake,
    slug: 'slack',
    scopeConfig: { api_url: `${fake.origin}/api`, relist_hours: 0 },
    credential: { origin: fake.origin, value: value() },
    allowedOrigins: [fake.origin],
    roots: {},
    messages,
    channels,
    users,
    asked,
    say,
    erase: (message) => {
      messages.splice(messages.indexOf(message), 1);
      const first = messages.find((each) => each.ts === message.thread && each.subtype === 'tombstone');
      if (repliesTo(message).length > 0) {
        const left = { text: 'This message was deleted.', user: 'USLACKBOT', editedTs: null };
        messages.push({ ...message, ...left, subtype: 'tombstone', thread: message.ts });
      } else if (first !== undefined && repliesTo(first).length === 0) {
        messages.splice(messages.indexOf(first), 1);
      }
    },
    archive: (id) => {
      Object.assign(
        channels.find((each) => each.id === id)!,
        { is_archived: true, is_member: false },
      );
    },
    fail: (...errors) => {
      failures.push(...errors);
    },
    /** A thread: its first message is the name, its only reply the content. */
    put: (name, content) => {
      const text = Buffer.from(content).toString();
      const first = current(name);
      if (first === undefined) {
        const begun = say(name);
        begun.thread = begun.ts;
        say(text, { thread: begun.ts });
      } else {
        edit(repliesTo(first)[0]!, text);
      }
      return Promise.resolve();
    },
    move: (from, to) => {
      const first = current(from);
      if (first !== undefined) edit(first, to);
      return Promise.resolve();
    },
    remove: (name) => {
      const first = current(name);
      if (first !== undefined) {
        for (const each of [...repliesTo(first), first]) messages.splice(messages.indexOf(each), 1);
      }
      return Promise.resolve();
    },
    renewCredential: () => {
      token = `xoxb-${(made += 1)}`;
      return Promise.resolve(value());
    },
    close: () => fake.stop(),
  };
}
