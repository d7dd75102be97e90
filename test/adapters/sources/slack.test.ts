import { afterEach, describe, expect, it } from 'vitest';
import { plainText } from '#adapters/sources/slack/message-text.ts';
import { slackProvider } from '#adapters/sources/slack/provider.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { startSlack, type SlackServer } from '../../support/sources/slack-server.ts';
import { describeSource } from '../../support/sources/source-contract.ts';
import { SourceModel } from '../../support/sources/source-model.ts';

describeSource('threads of Slack', {
  provider: slackProvider,
  start: startSlack,
  nameIn: (listed) => /^general\/\d{4}-\d\d-\d\d (.*)\.md$/su.exec(listed)?.[1] ?? listed,
  narrower: ({ channels }) => {
    channels.push({ id: 'CNARROW', name: 'other', is_member: true, is_private: false });
    return { channels: ['CNARROW'] };
  },
  pageSize: 100,
  readsRecentAgain: true,
});

const brief = () => AbortSignal.timeout(20_000);
const daySeconds = 86_400;
const today = Math.floor(Date.now() / 1_000 / daySeconds) * daySeconds;
const nameOf = (day: number) => new Date(day * 1_000).toISOString().slice(0, 10);

describe('Slack', () => {
  let server: SlackServer;
  afterEach(() => server?.close());
  const open = (scope: object = {}) =>
    openSource(slackProvider, { ...server, scopeConfig: { ...server.scopeConfig, ...scope } });
  const read = async (ref: string) => {
    const source = await open();
    const found = await source.fetch({ ref, version: null, mediaType: null, maxBytes: 1_000_000 }, brief());
    return found.kind === 'content' ? Buffer.from(found.content).toString() : found.kind;
  };

  it('makes a document of each day and of each thread', async () => {
    server = await startSlack();
    const monday = today - 20 * daySeconds;
    server.say('Good morning', { at: monday });
    server.say('Good night', { at: monday + daySeconds - 1, user: null });
    server.say('Next day', { at: monday + daySeconds });
    server.say('joined', { at: monday + 5, subtype: 'channel_join' });
    const first = server.say('How do we deploy?', { at: monday + 10 });
    first.thread = first.ts;
    server.say('With a button.', { at: monday + 20, thread: first.ts });
    server.say('Also here', { at: monday + 30, thread: first.ts, subtype: 'thread_broadcast' });
    const { documents } = await listAll(await open());
    expect(documents).toMatchObject([
      { ref: `C0GENERAL/d/${nameOf(monday + daySeconds)}` },
      {
        ref: `C0GENERAL/t/${first.ts}`,
        name: `general/${nameOf(monday)} How do we deploy?.md`,
        url: `https://acme.slack.example/archives/C0GENERAL/p${first.ts.replace('.', '')}`,
      },
      { ref: `C0GENERAL/d/${nameOf(monday)}`, name: `general/${nameOf(monday)}.md` },
    ]);
    expect(await read(documents[2]!.ref)).toBe(
      `# #general, ${nameOf(monday)}\n\n**Anna**, ${nameOf(monday)} 00:00 UTC\n\nGood morning\n\n` +
        `**Unknown**, ${nameOf(monday)} 23:59 UTC\n\nGood night`,
    );
    const thread = await read(documents[1]!.ref);
    expect(thread).toContain('How do we deploy?');
    expect(thread).toContain('With a button.');
    expect(thread).toContain('Also here');
    expect(documents.every(({ version }) => version !== null)).toBe(true);
  });

  it('gives the content of a listed day the version under which it was listed', async () => {
    server = await startSlack();
    for (let at = 0; at < 230; at += 1) server.say(`message ${at}`, { at: today - 5 * daySeconds + at });
    const source = await open();
    const { documents, pages } = await listAll(source);
    expect([documents.length, pages]).toEqual([1, 3]);
    const found = await source.fetch({ ...documents[0]!, version: null, maxBytes: 100_000 }, brief());
    expect(found).toMatchObject({ kind: 'content', version: documents[0]!.version });
    expect(await source.fetch({ ...documents[0]!, maxBytes: 100_000 }, brief())).toEqual({
      kind: 'unchanged',
    });
    expect(await source.fetch({ ...documents[0]!, maxBytes: 1_000 }, brief())).toMatchObject({
      code: 'too_large',
    });
    server.messages[100]!.text = 'edited';
    expect((await listAll(source)).documents[0]!.version).not.toBe(documents[0]!.version);
  });

  it('reads every message of a channel that has more than a page holds', async () => {
    server = await startSlack();
    const days = Array.from({ length: 250 }, (_, at) => today - (250 - at) * daySeconds);
    for (const day of days) server.say('hello', { at: day });
    server.say('of today', { at: Math.floor(Date.now() / 1_000) });
    const model = new SourceModel();
    expect((await model.sync(await open())).documents.map(({ ref }) => ref)).toEqual(
      [...days, today].toReversed().map((day) => `C0GENERAL/d/${nameOf(day)}`),
    );
    expect(model.copies.size).toBe(251);
  });

  it('lists everything after a version that read less of a channel', async () => {
    server = await startSlack();
    server.say('old', { at: today - 100 * daySeconds });
    const source = await open({ relist_hours: 24 });
    const began = Date.now() / 1_000 - 60;
    const before = JSON.stringify({ began, whole: began, channels: ['C0GENERAL'] });
    expect(await listAll(source, before)).toMatchObject({ scope: 'everything', documents: { length: 1 } });
    const halfway = {
      mode: 'changes',
      began,
      whole: began,
      oldest: 0,
      channel: 'C1',
      latest: null,
      day: null,
    };
    const cursor = JSON.stringify([JSON.stringify(halfway), 1, 1]);
    await expect(source.list({ cursor, checkpoint: before }, brief())).rejects.toMatchObject({
      code: 'cursor_expired',
    });
  });

  it('agrees with days after messages were said, edited and deleted', async () => {
    server = await startSlack();
    const model = new SourceModel();
    const said = Array.from({ length: 260 }, (_, at) =>
      server.say(`word${at}`, { at: today - (1 + (at % 9)) * daySeconds + at }),
    );
    for (let round = 0; round < 6; round += 1) {
      await model.sync(await open());
      const texts = model
        .contents()
        .map(([, text]) => text)
        .join('\n');
      for (const { text } of said) {
        expect(texts.includes(`\n${text}\n`) || texts.endsWith(text)).toBe(
          server.messages.some((each) => each.text === text),
        );
      }
      for (let at = round; at < said.length; at += 37)
        server.messages.splice(server.messages.indexOf(said[at]!), 1);
      said[round * 3 + 1]!.text = `edited${round}`;
    }
  });

  it('lists the last days after the first time, and everything again after the hours of the scope', async () => {
    server = await startSlack();
    const old = server.say('old', { at: today - 100 * daySeconds });
    server.say('recent', { at: today - 2 * daySeconds });
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    expect(await model.sync(source)).toMatchObject({ scope: 'everything', documents: { length: 2 } });
    server.messages.splice(server.messages.indexOf(old), 1);
    expect(await model.sync(source)).toMatchObject({ scope: 'changes', documents: { length: 1 } });
    expect(model.copies.size).toBe(2);
    model.checkpoint = model.checkpoint!.replace(/"whole":[\d.]+/, '"whole":0');
    expect(await model.sync(source)).toMatchObject({ scope: 'everything' });
    expect(model.copies.size).toBe(1);
    server.channels.push({ id: 'C0OPS', name: 'ops', is_member: true, is_private: false });
    expect((await listAll(await open({ relist_hours: 24 }), model.checkpoint)).scope).toBe('everything');
  });

  it('lists each page of changes once more as it was, and its checkpoint is of the first time', async () => {
    server = await startSlack();
    for (let at = 0; at < 150; at += 1) server.say('hello', { at: today - daySeconds + at });
    const source = await open({ relist_hours: 24 });
    const { checkpoint } = await listAll(source);
    const first = await source.list({ cursor: null, checkpoint }, brief());
    const last = await source.list({ cursor: first.next, checkpoint }, brief());
    expect([first.scope, last.next]).toEqual(['changes', null]);
    for (const page of [first, last]) {
      expect(await source.list({ cursor: page.at!, checkpoint }, brief())).toEqual(page);
    }
    expect((await source.list({ cursor: null, checkpoint: null }, brief())).at).toBeUndefined();
  });

  it('removes the day whose last message was deleted or begins a thread with the next changes', async () => {
    server = await startSlack();
    const day = (ago: number) => `C0GENERAL/d/${nameOf(today - ago * daySeconds)}`;
    const old = server.say('old', { at: today - 30 * daySeconds });
    const [deleted, begun, twice] = [5, 3, 2].map((ago) =>
      server.say(`${ago} days ago`, { at: today - ago * daySeconds }),
    );
    server.say('again', { at: today - 2 * daySeconds + 9 });
    const latest = server.say('today', { at: Math.floor(Date.now() / 1_000) });
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    await model.sync(source);
    expect([...model.copies.keys()]).toEqual([day(0), day(2), day(3), day(5), day(30)]);
    for (const each of [old, deleted!, twice!, latest]) server.erase(each);
    begun!.thread = begun!.ts;
    server.say('reply', { at: today - 3 * daySeconds + 1, thread: begun!.ts });
    const { scope, gone } = await model.sync(source);
    // What is older than the days that are read waits for the next complete listing.
    expect([...model.copies.keys()]).toEqual([day(2), day(30), `C0GENERAL/t/${begun!.ts}`]);
    expect([scope, gone.toSorted()]).toEqual(['changes', [0, 1, 3, 4, 5, 6, 7].map(day).toSorted()]);
  });

  it('removes days over pages and channels, and never one that has messages', async () => {
    server = await startSlack();
    server.channels.push({ id: 'C0OPS', name: 'ops', is_member: true, is_private: false });
    const dayOf = (ago: number) => today - ago * daySeconds;
    const saidOn = new Map(
      [5, 4, 2].map((ago) => [
        ago,
        Array.from({ length: 70 }, (_, at) => server.say('hello', { at: dayOf(ago) + at })),
      ]),
    );
    server.say('the first instant that is read', { ts: `${dayOf(7)}.000000` });
    for (const ago of [6, 3]) {
      for (let at = 0; at < 120; at += 1) {
        const first = server.say('begun', { at: dayOf(ago) + at });
        first.thread = first.ts;
        server.say('reply', { at: dayOf(ago) + 900, thread: first.ts });
      }
    }
    server.say('in ops', { channel: 'C0OPS', at: dayOf(4) });
    const model = new SourceModel();
    const source = await open({ relist_hours: 24 });
    await model.sync(source);
    const refs = (channel: string, days: number[]) => days.map((ago) => `${channel}/d/${nameOf(dayOf(ago))}`);
    const ofOps = refs('C0OPS', [0, 1, 2, 3, 5, 6, 7]);
    const before = await model.sync(source);
    expect(before.pages).toBeGreaterThan(4);
    expect(before.gone.toSorted()).toEqual([...refs('C0GENERAL', [0, 1, 3, 6]), ...ofOps].toSorted());
    for (const each of [...saidOn.get(2)!, ...saidOn.get(5)!]) server.erase(each);
    const after = await model.sync(source);
    expect(after.pages).toBeGreaterThan(3);
    expect(after.gone.toSorted()).toEqual([...refs('C0GENERAL', [0, 1, 2, 3, 5, 6]), ...ofOps].toSorted());
    expect([...model.copies.keys()].filter((ref) => ref.includes('/d/')).toSorted()).toEqual(
      [...refs('C0GENERAL', [4, 7]), ...refs('C0OPS', [4])].toSorted(),
    );
  });

  it('says of no day that it is gone where the channel is archived, or the listing is cut', async () => {
    server = await startSlack();
    const said = [2, 1].map((ago) => server.say('hello', { at: today - ago * daySeconds }));
    const { checkpoint } = await listAll(await open({ relist_hours: 24 }));
    server.erase(said[0]!);
    server.say('hello', { at: today - 3 * daySeconds });
    const cut = await open({ relist_hours: 24, max_documents: 1 });
    expect(await listAll(cut, checkpoint)).toMatchObject({ truncated: true, gone: [] });
    const source = await open({ relist_hours: 24 });
    expect((await listAll(source, checkpoint)).gone).toContain(
      `C0GENERAL/d/${nameOf(today - 2 * daySeconds)}`,
    );
    server.archive('C0GENERAL');
    expect(await listAll(source, checkpoint)).toMatchObject({ scope: 'changes', gone: [] });
  });

  it.each(['whole', 'began'])(
    'lists everything after a clock that was wrong: %s in the future',
    async (time) => {
      server = await startSlack();
      server.say('old', { at: today - 100 * daySeconds });
      const model = new SourceModel();
      const source = await open({ relist_hours: 24 });
      await model.sync(source);
      expect(await model.sync(source)).toMatchObject({ scope: 'changes' });
      const ahead = Date.parse('2100-01-01T00:00:00Z') / 1_000;
      model.checkpoint = model.checkpoint!.replace(new RegExp(`"${time}":[\\d.]+`), `"${time}":${ahead}`);
      expect(await model.sync(source)).toMatchObject({ scope: 'everything', documents: { length: 1 } });
      expect(await model.sync(source)).toMatchObject({ scope: 'changes' });
    },
  );

  it('reads public channels in which the app is, and private channels that the scope names', async () => {
    server = await startSlack();
    server.channels.push(
      { id: 'C0OTHER', name: 'other', is_member: false, is_private: false },
      { id: 'C0SECRET', name: 'secret', is_member: true, is_private: true },
    );
    for (let at = 0; at < 250; at += 1)
      server.channels.push({ id: `C1N${at}`, name: `n${at}`, is_member: at % 50 === 0, is_private: false });
    for (const channel of server.channels)
      server.say('hello', { channel: channel.id, at: today - daySeconds });
    const names = async (channels: string[]) =>
      (await listAll(await open({ channels }))).documents.map(({ ref }) => ref.split('/')[0]);
    expect(await names([])).toEqual(['C0GENERAL', 'C1N0', 'C1N100', 'C1N150', 'C1N200', 'C1N50']);
    expect(await names(['C0SECRET', 'C0GENERAL'])).toEqual(['C0GENERAL', 'C0SECRET']);
    await expect(names(['C0NONE'])).rejects.toMatchObject({ code: 'scope_invalid' });
    await expect(names(['C0OTHER'])).rejects.toMatchObject({ code: 'scope_invalid' });
    expect(await (await open()).exists(`C0SECRET/d/${nameOf(today - daySeconds)}`, brief())).toBe(false);
  });

  it.each([
    ['all', []],
    ['named', ['C0GENERAL', 'C0OPS']],
  ])('reads %s channels on when one of them is archived, whose documents stay', async (_, channels) => {
    server = await startSlack();
    server.channels.push({ id: 'C0OPS', name: 'ops', is_member: true, is_private: false });
    const old = server.say('old', { at: today - 30 * daySeconds });
    server.say('in general', { at: today - 20 * daySeconds });
    const begun = server.say('begun', { at: today - 25 * daySeconds });
    begun.thread = begun.ts;
    server.say('reply', { thread: begun.ts });
    server.say('in ops', { channel: 'C0OPS', at: today - daySeconds });
    const model = new SourceModel();
    const scope = { channels, history_days: 26 };
    await model.sync(await open({ channels }));
    expect(model.copies.size).toBe(4);
    server.archive('C0GENERAL');
    server.say('more in ops', { channel: 'C0OPS', at: today - 3 * daySeconds });
    const source = await open(scope);
    await source.check(brief());
    expect((await model.sync(source)).documents.map(({ ref }) => ref.split('/')[0])).toEqual([
      'C0OPS',
      'C0OPS',
    ]);
    // What is older than the days of the scope leaves, as from other channels.
    expect([...model.copies.keys()].some((ref) => ref.endsWith(nameOf(Number(old.ts))))).toBe(false);
    expect(model.contents().map(([name]) => name)).toEqual([
      `general/${nameOf(today - 25 * daySeconds)} begun.md`,
      `general/${nameOf(today - 20 * daySeconds)}.md`,
      `ops/${nameOf(today - 3 * daySeconds)}.md`,
      `ops/${nameOf(today - daySeconds)}.md`,
    ]);
    server.channels.splice(0, 1);
    if (channels.length > 0) {
      await expect((await open(scope)).check(brief())).rejects.toMatchObject({ code: 'scope_invalid' });
    } else {
      await model.sync(await open(scope));
      expect(model.copies.size).toBe(2);
    }
  });

  it('goes on with the next channel when one is archived during a listing', async () => {
    server = await startSlack();
    server.channels.push({ id: 'C0OPS', name: 'ops', is_member: true, is_private: false });
    for (let at = 0; at < 150; at += 1) server.say('hello', { at: today - 9 * daySeconds + at });
    server.say('in ops', { channel: 'C0OPS', at: today - daySeconds });
    const source = await open();
    const first = await source.list({ cursor: null, checkpoint: null }, brief());
    server.archive('C0GENERAL');
    const second = await source.list({ cursor: first.next, checkpoint: null }, brief());
    expect([first.documents, second.documents]).toEqual([[], []]);
    const last = await source.list({ cursor: second.next, checkpoint: null }, brief());
    expect(last).toMatchObject({ documents: [{ ref: `C0OPS/d/${nameOf(today - daySeconds)}` }], next: null });
    server.channels.find(({ id }) => id === 'C0OPS')!.is_member = false;
    await expect(listAll(source)).rejects.toMatchObject({ code: 'scope_invalid' });
  });

  it('lists everything when an archived channel is back', async () => {
    server = await startSlack();
    server.channels.push({ id: 'C0OPS', name: 'ops', is_member: true, is_private: false });
    server.archive('C0OPS');
    const scope = { channels: ['C0GENERAL', 'C0OPS'], relist_hours: 24 };
    const { checkpoint } = await listAll(await open(scope));
    expect(await listAll(await open(scope), checkpoint)).toMatchObject({ scope: 'changes' });
    server.say('old', { channel: 'C0OPS', at: today - 90 * daySeconds });
    Object.assign(server.channels[1]!, { is_archived: false, is_member: true });
    expect(await listAll(await open(scope), checkpoint)).toMatchObject({
      scope: 'everything',
      documents: { length: 1 },
    });
  });

  it('reads nothing that is older than the days of the scope', async () => {
    server = await startSlack();
    server.say('old', { at: today - 40 * daySeconds });
    server.say('new', { at: today - 10 * daySeconds });
    const source = await open({ history_days: 30 });
    expect((await listAll(source)).documents).toHaveLength(1);
    expect(await source.exists(`C0GENERAL/d/${nameOf(today - 40 * daySeconds)}`, brief())).toBe(false);
    expect(await source.exists(`C0GENERAL/d/${nameOf(today - 10 * daySeconds)}`, brief())).toBe(true);
    expect(await source.exists(`C0GENERAL/d/${nameOf(today - 9 * daySeconds)}`, brief())).toBe(false);
  });

  it('reads the replies of a thread whose first message was deleted, and its text no more', async () => {
    server = await startSlack();
    const first = server.say('secret question', { at: today - 9 * daySeconds });
    first.thread = first.ts;
    const replies = ['one', 'two'].map((text, at) =>
      server.say(text, { at: today - 9 * daySeconds + 60 + at, thread: first.ts }),
    );
    const ref = `C0GENERAL/t/${first.ts}`;
    const model = new SourceModel();
    await model.sync(await open());
    server.erase(first);
    await model.sync(await open());
    expect(model.contents()).toEqual([
      [
        `general/${nameOf(today - 9 * daySeconds)} Thread.md`,
        `# Thread in #general\n\n**Anna**, ${nameOf(today - 9 * daySeconds)} 00:01 UTC\n\none\n\n` +
          `**Anna**, ${nameOf(today - 9 * daySeconds)} 00:01 UTC\n\ntwo`,
      ],
    ]);
    const { fetched } = model;
    expect(await (await open()).exists(ref, brief())).toBe(true);
    await model.sync(await open());
    expect(model.fetched).toBe(fetched);
    server.erase(replies[0]!);
    await model.sync(await open());
    expect(await read(ref)).not.toContain('one');
    server.erase(replies[1]!);
    expect(await (await open()).exists(ref, brief())).toBe(false);
    expect(await read(ref)).toBe('gone');
    await model.sync(await open());
    expect(model.contents()).toEqual([]);
  });

  it('takes a thread of which nothing but its first message was said, and that deleted, as gone', async () => {
    server = await startSlack();
    await server.put('question', 'answer');
    const [first, reply] = server.messages;
    server.erase(first!);
    reply!.subtype = 'tombstone';
    expect(await read(`C0GENERAL/t/${first!.ts}`)).toBe('gone');
    expect(await (await open()).exists(`C0GENERAL/t/${first!.ts}`, brief())).toBe(false);
  });

  it('reads long threads over their pages', async () => {
    server = await startSlack();
    await server.put('question', 'answer 0.');
    const { ts } = server.messages[0]!;
    for (let at = 1; at < 250; at += 1) server.say(`answer ${at}.`, { thread: ts });
    const text = await read(`C0GENERAL/t/${ts}`);
    expect(text.match(/answer \d+\./g)).toHaveLength(250);
    expect(text.match(/question/g)).toHaveLength(1);
  });

  it.each([
    ['invalid_auth', 'auth_failed'],
    ['token_revoked', 'auth_failed'],
    ['missing_scope', 'auth_failed'],
    ['ratelimited', 'rate_limited'],
    ['invalid_cursor', 'cursor_expired'],
    ['channel_not_found', 'scope_invalid'],
    ['internal_error', 'source_unreachable'],
    ['service_unavailable', 'source_unreachable'],
    ['something_new', 'source_invalid'],
  ])('takes the error %s as %s', async (error, code) => {
    server = await startSlack();
    server.fail(error);
    const failure: unknown = await (await open()).check(brief()).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ name: 'SourceFailure', code });
    expect(String(failure)).not.toContain(error);
    if (code === 'rate_limited') expect(failure).toMatchObject({ retryAfterMs: 60_000 });
  });

  it('ends a history that repeats, and channels without an end', async () => {
    server = await startSlack();
    const message = { type: 'message', ts: `${today}.000100`, text: 'again' };
    const answers = (match: string, body: object) =>
      server.interfere((request, response) => {
        if (!request.url?.includes(match)) return false;
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ ok: true, ...body }));
        return true;
      });
    answers('history', { messages: [message], has_more: true });
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
    answers('history', { messages: [], has_more: true });
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
    answers('conversations.list', { channels: [], response_metadata: { next_cursor: 'again' } });
    await expect(listAll(await open())).rejects.toMatchObject({ code: 'source_invalid' });
  });

  it('ends at its limit of documents as truncated', async () => {
    server = await startSlack();
    for (let at = 1; at < 5; at += 1) server.say('hello', { at: today - at * daySeconds });
    expect(await listAll(await open({ max_documents: 3 }))).toMatchObject({
      documents: { length: 3 },
      truncated: true,
      checkpoint: null,
    });
    expect(await listAll(await open({ max_documents: 4 }))).toMatchObject({ truncated: false });
  });
});

describe('the text of a message', () => {
  it('has names, links and characters as people see them', () => {
    const names = new Map([['U0ANNA', 'Anna']]);
    const text =
      '<@U0ANNA> <@U0X> in <#C0X|ops>: <https://x.example/?a=1&amp;b|docs> <https://y.example> <!here> &lt;b&gt; &amp;amp;';
    expect(plainText(text, names)).toBe(
      '@Anna @U0X in #ops: docs (https://x.example/?a=1&b) https://y.example @here <b> &amp;',
    );
  });

  it('takes time in the order of the length of hostile texts', () => {
    for (const part of ['<', '<a|', '<a|b', '<@', 'a>']) {
      const began = performance.now();
      plainText(part.repeat(200_000), new Map());
      expect(performance.now() - began).toBeLessThan(3_000);
    }
  });
});
