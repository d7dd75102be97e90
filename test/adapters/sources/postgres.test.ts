import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import * as fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { postgresProvider } from '#adapters/sources/postgres/provider.ts';
import type { ListedDocument, Source } from '#domain/knowledge/connectors/source.ts';
import { expectEmpty } from '../../support/sources/expect-empty.ts';
import { listAll, openSource } from '../../support/sources/open-source.ts';
import { oddNames } from '../../support/sources/odd-names.ts';
import { startPostgresServer, type PostgresServer } from '../../support/sources/postgres-server.ts';
import { makeTestCertificate } from '../../support/sources/test-certificate.ts';

const signal = AbortSignal.timeout(600_000);
const provider = postgresProvider;

let server: PostgresServer;
let source: Source;
const opened: Source[] = [];

const open = async (scope: Record<string, unknown> = {}) => {
  const scopeConfig = { ...server.scopeConfig, ...scope };
  const other = await openSource(provider, { ...server, scopeConfig });
  opened.push(other);
  return other;
};
const names = async (from = source) => (await listAll(from)).documents.map(({ ref }) => ref).toSorted();
const textOf = ({ content }: ListedDocument) => content && Buffer.from(content).toString();
const fetchText = async (
  ref: string,
  { from = source, version = null as string | null, maxBytes = 1_000_000 } = {},
) => {
  const fetched = await from.fetch({ ref, version, mediaType: null, maxBytes }, signal);
  return fetched.kind === 'content' ? Buffer.from(fetched.content).toString() : fetched;
};

const fetchedText = async (ref: string) => {
  const text = await fetchText(ref);
  return typeof text === 'string' ? text : text.kind;
};

beforeAll(async () => {
  server = await startPostgresServer();
  source = await open();
});
beforeEach(() => server.sql('truncate articles'));
afterAll(async () => {
  for (const each of opened) await each.close?.();
  await server.close();
});

test('an empty table has no documents, and the check passes', async () => {
  await expectEmpty(source, signal);
});

test('a row is a Markdown document, which the listing brings and a request fetches', async () => {
  await server.put('a', 'Text.');
  const [document] = (await listAll(source)).documents;
  expect(document).toMatchObject({
    ref: 'a',
    name: 'a.md',
    mediaType: 'text/markdown',
    byteSize: 11,
    url: null,
  });
  expect(document && textOf(document)).toBe('# a\n\nText.\n');
  expect(await fetchText('a')).toBe('# a\n\nText.\n');
  expect(await fetchText('a', { version: document?.version ?? null })).toEqual({ kind: 'unchanged' });
});

test('several columns of the body have headings; an empty one is left out', async () => {
  await server.sql(
    `insert into articles (id, title, body, readers) values ('a', E'Two\nlines', ' x ', '{p,q}'), ('b', null, '', null)`,
  );
  const both = await open({ body: ['body', 'readers'] });
  const { documents } = await listAll(both);
  expect(documents.map(textOf)).toEqual(['# Two lines\n\n## body\n\nx\n\n## readers\n\n{p,q}\n', '# b\n']);
});

test('after a complete listing only newer rows come with their content, all with their versions', async () => {
  await server.put('a', 'first');
  await server.put('b', 'first');
  const before = await listAll(source);
  const unchanged = await listAll(source, before.checkpoint);
  expect(unchanged.documents.map(textOf)).toEqual([undefined, undefined]);
  expect(unchanged.documents.map(({ version }) => version)).toEqual(
    before.documents.map(({ version }) => version),
  );
  await server.put('b', 'second');
  const after = await listAll(source, before.checkpoint);
  expect(after.documents.map(textOf)).toEqual([undefined, '# b\n\nsecond\n']);
  expect(after.documents[1]?.version).not.toBe(before.documents[1]?.version);
});

test('after a complete listing a page has a thousand rows, a hundred with readers', async () => {
  await server.sql(`insert into articles (id, body) select 'k' || n, 'x' from generate_series(1, 1001) n`);
  const shared = await open({ readers: 'readers' });
  for (const [from, expected] of [
    [source, 2],
    [shared, 11],
  ] as const) {
    const before = await listAll(from);
    const unchanged = await listAll(from, before.checkpoint);
    expect([before.pages, unchanged.pages]).toEqual([11, expected]);
    expect(unchanged.documents).toHaveLength(1_001);
  }
});

test('a listing is cut after a million rows, whatever the size of its pages', async () => {
  await server.sql(`insert into articles (id, body) select 'k' || n, 'x' from generate_series(1, 1001) n`);
  const { checkpoint } = await listAll(source);
  const isCut = async (page: number, since: string | null) => {
    const cursor = JSON.stringify({ after: 'a', page, newest: null });
    return (await source.list({ cursor, checkpoint: since }, signal)).truncated;
  };
  expect([await isCut(999, checkpoint), await isCut(1_000, checkpoint)]).toEqual([false, true]);
  expect([await isCut(9_999, null), await isCut(10_000, null)]).toEqual([false, true]);
});

test('a change of the columns changes all versions and brings all contents', async () => {
  await server.put('a', 'text');
  const before = await listAll(source);
  const after = await listAll(await open({ title: null }), before.checkpoint);
  expect(after.documents.map(textOf)).toEqual(['# a\n\ntext\n']);
  expect(after.documents[0]?.version).not.toBe(before.documents[0]?.version);
});

test('without a column of the time the system column xmin shows changes', async () => {
  const other = await open({ updated_at: null });
  await server.put('a', 'first');
  await server.put('b', 'first');
  const before = await listAll(other);
  await server.sql(`update articles set body = 'second' where id = 'b'`);
  const after = await listAll(other, before.checkpoint);
  expect(after.documents[0]?.version).toBe(before.documents[0]?.version);
  expect(after.documents[1]?.version).not.toBe(before.documents[1]?.version);
  expect(after.documents.map(textOf)).toEqual([undefined, undefined]);
  expect(await fetchText('b', { from: other })).toBe('# b\n\nsecond\n');
});

test('a row whose time is null is compared by its content', async () => {
  await server.sql('alter table articles alter updated_at drop not null');
  await server.sql(`insert into articles (id, body, updated_at) values ('a', 'text', null)`);
  const { checkpoint, documents } = await listAll(source);
  expect(documents[0]?.version).toBeNull();
  const fetched = await source.fetch({ ref: 'a', version: null, mediaType: null, maxBytes: 100 }, signal);
  const version = fetched.kind === 'content' ? fetched.version : null;
  expect(await fetchText('a', { version })).toEqual({ kind: 'unchanged' });
  expect((await listAll(source, checkpoint)).documents).toHaveLength(1);
});

test('a row whose time is null comes with its content in each run, beside rows with a time', async () => {
  await server.sql('alter table articles alter updated_at drop not null');
  await server.put('a', 'text');
  await server.sql(`insert into articles (id, body, updated_at) values ('b', 'timeless', null)`);
  const { checkpoint } = await listAll(source);
  await server.sql(`update articles set body = 'changed' where id = 'b'`);
  const { documents } = await listAll(source, checkpoint);
  expect(documents.map(textOf)).toEqual([undefined, '# b\n\nchanged\n']);
});

test.each([
  ['integer', '1', ['2147483648', '99999999999999999999', 'x']],
  ['uuid', '8f5e6c2e-0a84-4e3c-9a4c-0f2f3c9d0b1a', ['8f5e', '']],
  ['date', '2026-01-02', ['2026-02-30', '99999999-01-01', 'no date']],
  ['numeric(4, 1)', '1.5', ['1e200000', 'x']],
])('no row has a key that the type %s does not hold', async (type, key, others) => {
  await server.sql('drop table if exists keyed');
  await server.sql(`create table keyed (id ${type} primary key, body text)`);
  await server.sql('grant select on keyed to public');
  await server.sql('insert into keyed values ($1, $2)', [key, 'x']);
  const keyed = await open({ table: 'keyed', title: null, updated_at: null });
  expect(await keyed.exists(key, signal)).toBe(true);
  for (const ref of others) {
    expect([ref, await keyed.exists(ref, signal)]).toEqual([ref, false]);
    expect(await fetchText(ref, { from: keyed })).toEqual({ kind: 'gone' });
  }
});

test('a position or a time that the column can no longer hold begins the listing again', async () => {
  const cursor = JSON.stringify({ after: '99999999999', page: 2, newest: null });
  await server.sql('drop table if exists keyed');
  await server.sql('create table keyed (id integer primary key, body text, at timestamptz)');
  await server.sql('grant select on keyed to public');
  const keyed = await open({ table: 'keyed', title: null, updated_at: 'at' });
  await expect(keyed.list({ cursor, checkpoint: null }, signal)).rejects.toMatchObject({
    code: 'cursor_expired',
  });
  const { checkpoint } = await listAll(keyed);
  const { columns } = JSON.parse(checkpoint ?? '') as { columns: string };
  const other = JSON.stringify({ columns, newest: 'version 7' });
  await expect(listAll(keyed, other)).rejects.toMatchObject({ code: 'cursor_expired' });
});

test('an error in the rows of a view is none of the position in its listing', async () => {
  await server.sql('drop view if exists grown');
  await server.sql('drop table if exists keyed');
  await server.sql('create table keyed (id integer primary key, body text, factor integer)');
  await server.sql('create view grown as select id, body, factor * 1000000 as at from keyed');
  await server.sql('grant select on keyed, grown to public');
  await server.sql('insert into keyed select n, $1, 1 from generate_series(1, 101) n', ['x']);
  const grown = await open({ table: 'grown', title: null, updated_at: 'at' });
  const { next } = await grown.list({ cursor: null, checkpoint: null }, signal);
  const { checkpoint } = await listAll(grown);
  await server.sql('update keyed set factor = 100000 where id = 101');
  const failure = { code: 'scope_invalid' };
  await expect(grown.list({ cursor: next, checkpoint: null }, signal)).rejects.toMatchObject(failure);
  await expect(grown.list({ cursor: next, checkpoint }, signal)).rejects.toMatchObject(failure);
  await expect(fetchText('101', { from: grown })).rejects.toMatchObject(failure);
  expect(await grown.exists('none', signal)).toBe(false);
  await server.sql('drop view grown');
});

test('a moved row has another reference, and a deleted one is gone', async () => {
  await server.put('a', 'text');
  await server.move('a', 'b/c');
  expect(await names()).toEqual(['b/c']);
  expect(await source.exists('a', signal)).toBe(false);
  expect(await source.exists('b/c', signal)).toBe(true);
  await server.remove('b/c');
  expect(await names()).toEqual([]);
  expect(await fetchText('b/c')).toEqual({ kind: 'gone' });
});

test('keys and titles in ten scripts and with odd characters come back as they are', async () => {
  const odd = [...oddNames, `'; drop table articles; --`, '"', '$1', 'new\nline', ' '];
  for (const name of odd) await server.put(name, name);
  expect(await names()).toEqual(odd.toSorted());
  for (const name of odd) {
    expect(await source.exists(name, signal)).toBe(true);
    expect(await fetchText(name)).toContain(name.trim());
  }
  const { documents } = await listAll(source);
  expect(documents.filter(({ name }) => name.includes('/'))).toEqual([]);
});

test('names of tables and columns are quoted', async () => {
  await server.sql(`create table "Odd ""table""; --" ("The Key" int primary key, "select" jsonb)`);
  await server.sql(`grant select on "Odd ""table""; --" to public`);
  await server.sql(`insert into "Odd ""table""; --" values (10, '{"a": 1}'), (9, '{}')`);
  const odd = await open({
    table: 'Odd "table"; --',
    key: 'The Key',
    title: null,
    body: ['select'],
    updated_at: null,
  });
  expect((await listAll(odd)).documents.map(({ ref }) => ref)).toEqual(['9', '10']);
  expect(await fetchText('10', { from: odd })).toBe('# 10\n\n{"a": 1}\n');
  expect(await odd.exists('no number', signal)).toBe(false);
  expect(await fetchText('x', { from: odd })).toEqual({ kind: 'gone' });
});

test.each([
  ['integer', `n`],
  ['bigint', `n * 10000000000`],
  ['uuid', `md5(n::text)::uuid`],
  ['text', `'k' || n`],
])(
  'pages follow keys of type %s to the end, for each number of rows at the boundaries',
  async (type, value) => {
    await server.sql('drop table if exists keyed');
    await server.sql(`create table keyed (id ${type} primary key, body text)`);
    await server.sql('grant select on keyed to public');
    const keyed = await open({ table: 'keyed', title: null, updated_at: null });
    let rows = 0;
    for (const count of [0, 1, 99, 100, 101, 1_234]) {
      await server.sql(
        `insert into keyed select ${value}, 'x' from generate_series(${rows + 1}, ${count}) n`,
      );
      rows = count;
      const { documents, pages } = await listAll(keyed);
      expect(new Set(documents.map(({ ref }) => ref)).size).toBe(count);
      expect(pages).toBe(Math.floor(count / 100) + 1);
    }
  },
);

test('a page has a bounded number of bytes; longer rows are fetched alone, and too long ones are skipped', async () => {
  await server.sql(
    `insert into articles (id, body) select 'r' || lpad(n::text, 2, '0'), repeat('ä', 100000) from generate_series(1, 60) n`,
  );
  await server.sql(`insert into articles (id, body) values ('a', repeat('y', 3000000))`);
  const { documents } = await listAll(source);
  const bytes = documents.reduce((sum, { content }) => sum + (content?.byteLength ?? 0), 0);
  expect(documents).toHaveLength(61);
  expect(bytes).toBeLessThan(4_300_000);
  expect(bytes).toBeGreaterThan(3_500_000);
  expect(documents[0]).toMatchObject({ ref: 'a', byteSize: 3_000_000 });
  expect(documents[0]).not.toHaveProperty('content');
  expect(await fetchText('a', { maxBytes: 2_999_999 })).toEqual({ kind: 'skipped', code: 'too_large' });
  expect(await fetchText('a', { maxBytes: 3_000_000 })).toHaveLength(3_000_006);
  expect(await fetchText('r60')).toHaveLength(100_008);
});

test('calls at the same time take turns on the connection', async () => {
  for (const name of ['a', 'b', 'c']) await server.put(name, name);
  const other = await open();
  const texts = await Promise.all(['a', 'b', 'c'].map((name) => fetchText(name, { from: other })));
  expect(texts).toEqual(['# a\n\na\n', '# b\n\nb\n', '# c\n\nc\n']);
});

test('readers are addresses of a column; null is nobody, and a star everybody', async () => {
  await server.sql(`insert into articles (id, readers) values
    ('a', '{A@example.org,\u212A@example.org,no address}'), ('b', null), ('c', '{*}')`);
  await server.sql(`alter table articles add reader_text text default 'X@example.org, y@example.org'`);
  const readersOf = async (readers: string | null) =>
    (await listAll(await open({ readers }))).documents.map((document) => document.readers);
  expect(await readersOf('readers')).toEqual([
    { addresses: ['a@example.org', '\u212A@example.org'], groups: [] },
    { addresses: [], groups: [] },
    'public',
  ]);
  expect((await readersOf('reader_text'))[0]).toEqual({
    addresses: ['x@example.org', 'y@example.org'],
    groups: [],
  });
  expect(await readersOf(null)).toEqual([undefined, undefined, undefined]);
});

test('rows in another form than it was asked for are the fault of the source, and odd readers are nobody', async () => {
  await server.put('a', 'Text.');
  const form = await open({ readers: 'readers' });
  // Databases define how types become text.
  await server.sql(`create function odd_json(jsonb) returns text language sql immutable as $$ select '{"a' $$;
    create cast (jsonb as text) with function odd_json(jsonb)`);
  try {
    const { documents } = await listAll(form);
    expect(documents.map(({ readers }) => readers)).toEqual([{ addresses: [], groups: [] }]);
  } finally {
    await server.sql('drop cast (jsonb as text)');
  }
  await server.sql(`create type odd_key as enum ('a');
    create function odd_text(odd_key) returns text language sql immutable as 'select null::text';
    create cast (odd_key as text) with function odd_text(odd_key);
    create table odd_rows (id odd_key, title text, body text, updated_at timestamptz default now());
    insert into odd_rows (id) values ('a');
    grant select on odd_rows to public`);
  const odd = await open({ table: 'odd_rows' });
  await expect(odd.check(signal)).rejects.toMatchObject({ code: 'source_invalid' });
  await expect(listAll(odd)).rejects.toMatchObject({ code: 'source_invalid' });
  const asked = { ref: 'a', version: null, mediaType: null, maxBytes: 1_000 };
  await expect(odd.fetch(asked, signal)).rejects.toMatchObject({ code: 'source_invalid' });
});

test('nothing can be written, not even by a view', async () => {
  await server.sql('create table if not exists written (n int)');
  await server.sql('grant all on written to public');
  await server.sql(
    `create or replace function public.write() returns text language sql as 'insert into public.written values (1) returning n::text'`,
  );
  await server.sql(
    'create or replace view writing as select 1 as id, public.write() as body, 1 as updated_at',
  );
  await server.sql('grant select on writing to public');
  const writing = await open({ table: 'writing', title: null });
  await expect(listAll(writing)).rejects.toMatchObject({ code: 'scope_invalid' });
  expect(await server.sql('select * from written')).toEqual([]);
});

test.each([
  [{ table: 'no_such_table' }, 'scope_invalid'],
  [{ schema: 'no_such_schema' }, 'scope_invalid'],
  [{ database: 'no_such_database' }, 'scope_invalid'],
  [{ body: ['no_such_column'] }, 'scope_invalid'],
  [{ table: 'secret' }, 'auth_failed'],
  [{ table: 'doubled' }, 'scope_invalid'],
  [{ table: 'long_keys' }, 'scope_invalid'],
  [{ table: 'a_view', updated_at: null }, 'scope_invalid'],
  [{ table: 'a_view', key: 'unordered', updated_at: null }, 'scope_invalid'],
  [{ ssl: 'verify' }, 'scope_invalid'],
])('the scope %j fails as %s', async (scope, code) => {
  await server.sql(`create table if not exists secret (like articles);
    drop table if exists doubled; create table doubled (like articles); grant select on doubled to public;
    insert into doubled (id, updated_at) values ('a', now()), ('a', now());
    drop table if exists long_keys; create table long_keys (like articles); grant select on long_keys to public;
    insert into long_keys (id, updated_at) values (repeat('x', 2000), now());
    create or replace view a_view as select *, point(1, 1) as unordered from articles; grant select on a_view to public`);
  const failing = await open(scope);
  const failure = await failing.check(signal).catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: 'SourceFailure', code });
  await expect(listAll(failing)).rejects.toMatchObject({ code });
});

test('a refused password fails the authentication until it is renewed', async () => {
  await server.put('a', 'text');
  await source.check(signal);
  const value = await server.renewCredential();
  await expect(source.check(signal)).rejects.toMatchObject({ name: 'SourceFailure' });
  await expect(source.check(signal)).rejects.toMatchObject({ code: 'auth_failed' });
  server.credential = { origin: server.allowedOrigins[0] ?? '', value };
  source = await open();
  expect(await names()).toEqual(['a']);
});

test('a broken connection is unreachable, and is made again when the server is back', async () => {
  await server.put('a', 'text');
  await source.check(signal);
  await server.stop();
  await expect(listAll(source)).rejects.toMatchObject({ code: 'source_unreachable' });
  await expect(listAll(source)).rejects.toMatchObject({ code: 'source_unreachable' });
  await server.start();
  expect(await names()).toEqual(['a']);
});

test('a statement that waits for a lock ends within a bound, and the signal of the caller ends it at once', async () => {
  await server.put('a', 'text');
  await source.check(signal);
  const held = server.sql('begin; lock table articles in access exclusive mode; select pg_sleep(8); commit');
  await new Promise((done) => setTimeout(done, 300));
  const other = await open();
  const began = Date.now();
  await expect(other.check(AbortSignal.timeout(300))).rejects.toMatchObject({ name: 'TimeoutError' });
  expect(Date.now() - began).toBeLessThan(2_000);
  await expect(source.check(signal)).rejects.toMatchObject({ code: 'source_unreachable' });
  expect(Date.now() - began).toBeLessThan(7_900);
  await held;
  expect(await names()).toEqual(['a']);
});

test('a position that cannot be read begins the listing again', async () => {
  await expect(source.list({ cursor: 'x', checkpoint: null }, signal)).rejects.toMatchObject({
    code: 'cursor_expired',
  });
});

describe('hostile servers', () => {
  const serve = async (answer: (socket: Socket) => void) => {
    const hostile = createServer((socket) => {
      socket.on('error', () => {});
      answer(socket);
    });
    await once(hostile.listen(0, '127.0.0.1'), 'listening');
    const { port } = hostile.address() as AddressInfo;
    const scopeConfig = { ...server.scopeConfig, port };
    const reader = await openSource(provider, {
      ...server,
      scopeConfig,
      allowedOrigins: [`postgres://127.0.0.1:${port}`],
    });
    return { reader, close: () => hostile.close() };
  };

  test('a server that never answers is unreachable within a bound', async () => {
    const { reader, close } = await serve(() => {});
    const began = Date.now();
    await expect(reader.check(signal)).rejects.toMatchObject({ code: 'source_unreachable' });
    expect(Date.now() - began).toBeLessThan(15_000);
    close();
  });

  test('an answer without an end is cut at its limit of bytes', async () => {
    const ready = Buffer.from([82, 0, 0, 0, 8, 0, 0, 0, 0, 90, 0, 0, 0, 5, 73]);
    let sent = 0;
    const { reader, close } = await serve((socket) => {
      socket.once('data', () => {
        socket.write(ready);
        const row = Buffer.alloc(1_048_576, 'x');
        row.write('D');
        row.writeInt32BE(0x7fff_ffff, 1);
        const more = () => {
          while (sent < 200_000_000 && socket.writable) {
            sent += row.length;
            if (!socket.write(row)) return;
          }
        };
        socket.on('drain', more);
        more();
      });
    });
    await expect(reader.check(signal)).rejects.toMatchObject({ code: 'source_invalid' });
    expect(sent).toBeLessThan(100_000_000);
    close();
  });

  test('an answer that is no protocol is a failure, and an address that is not listed is refused', async () => {
    const { reader, close } = await serve((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await expect(reader.check(signal)).rejects.toMatchObject({ name: 'SourceFailure' });
    close();
    const unlisted = await openSource(provider, { ...server, allowedOrigins: [] });
    await expect(unlisted.check(signal)).rejects.toMatchObject({ code: 'scope_invalid' });
  });

  test('a password is not sent in the clear to a public address that is not listed', async () => {
    const scopeConfig = { ...server.scopeConfig, host: '8.8.8.8', port: 5_432, ssl: 'off' };
    const value = { kind: 'basic', username: 'reader', password: 'canary-password' } as const;
    const credential = { origin: 'postgres://8.8.8.8:5432', value };
    const unlisted = await openSource(provider, { ...server, scopeConfig, credential, allowedOrigins: [] });
    const refusal: unknown = await unlisted.check(signal).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'scope_invalid' });
    expect(String(refusal)).toContain('EGRESS_ALLOW');
  });
});

const certificate = makeTestCertificate();

test.skipIf(certificate === null)('an encrypted connection needs a trusted certificate', async () => {
  await server.put('a', 'text');
  const encrypting = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write('S');
      const secure = new TLSSocket(socket, {
        isServer: true,
        cert: certificate?.certificate,
        key: certificate?.key,
      });
      const upstream = connect(server.port, '127.0.0.1');
      secure.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
      upstream.on('error', () => secure.destroy()).on('close', () => secure.destroy());
      secure.pipe(upstream).pipe(secure);
    });
  });
  await once(encrypting.listen(0, '127.0.0.1'), 'listening');
  const { port } = encrypting.address() as AddressInfo;
  const openOn = (scope: object) =>
    openSource(provider, {
      ...server,
      scopeConfig: { ...server.scopeConfig, port, ssl: 'verify', ...scope },
      allowedOrigins: [`postgres://127.0.0.1:${port}`],
    });
  await expect((await openOn({})).check(signal)).rejects.toMatchObject({ code: 'scope_invalid' });
  const trusting = await openOn({ ssl_certificate: certificate?.certificate });
  expect(await names(trusting)).toEqual(['a']);
  await trusting.close?.();
  encrypting.close();
});

test('after any changes the listing with its checkpoint equals the table', async () => {
  const key = fc.constantFrom('a', 'b', 'ä/c', 'd e', 'F');
  const change = fc.oneof(
    fc.record({
      kind: fc.constant('put' as const),
      key,
      text: fc.string({ unit: 'grapheme', maxLength: 20 }),
    }),
    fc.record({ kind: fc.constant('move' as const), key, to: key }),
    fc.record({ kind: fc.constant('remove' as const), key }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 5 }), async (rounds) => {
      await server.sql('truncate articles');
      const model = new Map<string, string>();
      const copy = new Map<string, { version: string | null; text: string }>();
      let checkpoint: string | null = null;
      for (const round of rounds) {
        for (const each of round) {
          if (each.kind === 'put') {
            const text = each.text.replaceAll('\0', '').trim();
            model.set(each.key, text);
            await server.put(each.key, text);
          } else if (each.kind === 'remove') {
            model.delete(each.key);
            await server.remove(each.key);
          } else if (model.has(each.key) && !model.has(each.to)) {
            model.set(each.to, model.get(each.key) ?? '');
            model.delete(each.key);
            await server.move(each.key, each.to);
          }
        }
        const listing = await listAll(source, checkpoint);
        checkpoint = listing.checkpoint;
        const refs = new Set(listing.documents.map(({ ref }) => ref));
        for (const ref of copy.keys()) if (!refs.has(ref)) copy.delete(ref);
        for (const document of listing.documents) {
          const { ref, version } = document;
          if (copy.get(ref)?.version !== version) {
            copy.set(ref, { version, text: textOf(document) ?? (await fetchedText(ref)) });
          }
        }
        const expected = [...model].map(
          ([ref, text]) => [ref, text === '' ? `# ${ref}\n` : `# ${ref}\n\n${text}\n`] as const,
        );
        const copied = [...copy].map(([ref, { text }]) => [ref, text] as const);
        expect(new Map(copied)).toEqual(new Map(expected));
      }
    }),
    { numRuns: 40 },
  );
});
