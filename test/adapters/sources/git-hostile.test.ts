import type { IncomingMessage, ServerResponse } from 'node:http';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { gitProvider } from '#adapters/sources/git/provider.ts';
import type { AnswerLimits } from '#adapters/egress/answer-limits.ts';
import { startGitServer, type GitServer } from '#test/support/sources/git-server.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';

let server: GitServer;
beforeEach(async () => {
  server = await startGitServer();
  await server.put('a.md', 'content');
});
afterEach(() => server.close());

const soon = () => AbortSignal.timeout(30_000);
const open = (limits: Partial<AnswerLimits> = {}) => openSource(gitProvider, server, '', limits);
const list = async (limits?: Partial<AnswerLimits>) => listAll(await open(limits), null, soon());
const pkt = (data: string | Buffer) => {
  const bytes = Buffer.from(data as string);
  return Buffer.concat([Buffer.from((bytes.byteLength + 4).toString(16).padStart(4, '0')), bytes]);
};

type Answer = (request: IncomingMessage, response: ServerResponse) => void;
const isPost = (request: IncomingMessage) => request.method === 'POST';

/** Answers a command, or with null the first request, in place of git. */
function answerTo(command: 'ls-refs' | 'fetch' | null, answer: Answer): void {
  let commands = 0;
  server.intercept = (request, response) => {
    if (isPost(request)) commands += 1;
    const now = isPost(request) ? (commands === 1 ? 'ls-refs' : 'fetch') : null;
    if (now !== command) return false;
    answer(request, response);
    return true;
  };
}

const result = { 'content-type': 'application/x-git-upload-pack-result' };
const advertisement = { 'content-type': 'application/x-git-upload-pack-advertisement' };

describe('statuses', () => {
  test.each([
    [401, {}, 'auth_failed'],
    [403, {}, 'auth_failed'],
    [404, {}, 'scope_invalid'],
    [429, { 'retry-after': '7' }, 'rate_limited'],
    [503, { 'retry-after': '7' }, 'rate_limited'],
    [500, {}, 'source_unreachable'],
    [502, {}, 'source_unreachable'],
    [507, {}, 'quota_exceeded'],
  ])('HTTP %i', async (status, headers, code) => {
    for (const command of [null, 'ls-refs', 'fetch'] as const) {
      answerTo(command, (_, response) => response.writeHead(status, headers).end('private words'));
      const failure = await list().catch((error: unknown) => error);
      expect(failure).toMatchObject({ code, retryAfterMs: code === 'rate_limited' ? 7_000 : null });
      expect(String(failure)).not.toContain('private words');
    }
  });

  test('a page that is no repository, and a server of an older protocol', async () => {
    answerTo(null, (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'));
    await expect(list()).rejects.toMatchObject({ code: 'scope_invalid' });
    answerTo(null, (_, response) => {
      const line = pkt(`${'0'.repeat(40)} capabilities^{}\0side-band-64k\n`);
      response.writeHead(200, advertisement);
      response.end(Buffer.concat([pkt('# service=git-upload-pack\n'), Buffer.from('0000'), line]));
    });
    await expect(list()).rejects.toMatchObject({ code: 'scope_invalid' });
  });
});

describe('a server that does not answer', () => {
  test('is unreachable while it is stopped, and found again', async () => {
    await server.stop();
    await expect(list()).rejects.toMatchObject({ code: 'source_unreachable' });
    await server.start();
    expect((await list()).documents).toHaveLength(1);
  });

  test.each([null, 'ls-refs', 'fetch'] as const)('is given up at %s, within the limit', async (command) => {
    answerTo(command, () => {});
    const begun = performance.now();
    await expect(list({ headersMs: 200 })).rejects.toMatchObject({ code: 'source_unreachable' });
    answerTo(command, (_, response) => response.writeHead(200, command ? result : advertisement).write('00'));
    await expect(list({ idleMs: 200 })).rejects.toMatchObject({ code: 'source_unreachable' });
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  test('is left when the caller aborts', async () => {
    answerTo('fetch', () => {});
    const source = await open();
    const reason = new Error('enough');
    const stop = new AbortController();
    setTimeout(() => stop.abort(reason), 100);
    await expect(source.list({ cursor: null, checkpoint: null }, stop.signal)).rejects.toBe(reason);
    server.intercept = null;
    expect((await listAll(source)).documents).toHaveLength(1);
  });

  test('a slow answer is read to its end', async () => {
    let waits = 0;
    server.intercept = (_, response) => {
      const write = response.write.bind(response);
      const end = response.end.bind(response);
      waits += 1;
      response.write = ((chunk: Buffer) => {
        setTimeout(() => write(chunk), 300);
        return true;
      }) as typeof response.write;
      response.end = (() => setTimeout(() => end(), 400)) as unknown as typeof response.end;
      return false;
    };
    expect((await list()).documents).toHaveLength(1);
    expect(waits).toBe(3);
  });

  test.each(['ls-refs', 'fetch'] as const)('an answer that is cut off, to %s', async (command) => {
    answerTo(command, (_, response) => {
      response.writeHead(200, { ...result, 'content-length': 1_000 });
      response.write('003', () => response.destroy());
    });
    await expect(list()).rejects.toMatchObject({ code: 'source_unreachable' });
    answerTo(command, (_, response) => response.writeHead(200, result).end(pkt('packfile\n')));
    await expect(list()).rejects.toMatchObject({ code: expect.stringMatching(/^source_/) });
  });
});

describe('redirects', () => {
  test('of the first request are followed, also to another path', async () => {
    server.intercept = (request, response) => {
      if (!request.url?.startsWith('/old')) return false;
      response.writeHead(301, { location: request.url.replace('/old', '/docs/.git') }).end();
      return true;
    };
    const moved = { ...server, scopeConfig: { url: server.url.replace('/docs/.git', '/old') } };
    expect((await listAll(await openSource(gitProvider, moved))).documents).toHaveLength(1);
  });

  test.each([
    ['a loop', '/docs/.git/info/refs?service=git-upload-pack', 'source_invalid'],
    ['a private address', 'https://10.0.0.1/info/refs?service=git-upload-pack', 'scope_invalid'],
    ['an address of this machine', 'http://127.0.0.1:1/info/refs?service=git-upload-pack', 'scope_invalid'],
    ['a file', 'file:///etc/passwd', 'source_invalid'],
  ])('to %s are refused', async (_, location, code) => {
    answerTo(null, (__, response) => response.writeHead(302, { location }).end());
    await expect(list()).rejects.toMatchObject({ code });
  });

  test('of a command are not followed', async () => {
    answerTo('ls-refs', (_, response) => response.writeHead(307, { location: '/elsewhere' }).end());
    await expect(list()).rejects.toMatchObject({ code: 'scope_invalid' });
  });

  test('a credential is not sent to another origin', async () => {
    const other = await startGitServer({ secured: true });
    const seen: unknown[] = [];
    other.intercept = (request) => {
      seen.push(request.headers.authorization);
      return false;
    };
    answerTo(null, (request, response) =>
      response.writeHead(302, { location: `${other.allowedOrigins[0]}${request.url}` }).end(),
    );
    const both = {
      ...server,
      allowedOrigins: [...server.allowedOrigins, ...other.allowedOrigins],
      credential: { ...other.credential!, origin: server.allowedOrigins[0] ?? '' },
    };
    await expect(listAll(await openSource(gitProvider, both))).rejects.toMatchObject({ code: 'auth_failed' });
    expect(seen).toEqual([undefined]);
    await other.close();
  });
});

/** A pack of these objects in git's form. */
function packOf(...objects: { type: number; size?: number; data: Buffer }[]): Buffer {
  const head = Buffer.alloc(12);
  head.write('PACK');
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(objects.length, 8);
  const parts = objects.map(({ type, size, data }) => {
    const bytes = [];
    let rest = size ?? data.byteLength;
    let byte = (type << 4) | (rest & 15);
    for (rest = Math.floor(rest / 16); rest > 0; rest = Math.floor(rest / 128)) {
      bytes.push(byte | 0x80);
      byte = rest & 0x7f;
    }
    return Buffer.concat([Buffer.from([...bytes, byte]), deflateSync(data)]);
  });
  return Buffer.concat([head, ...parts, Buffer.alloc(20)]);
}

function answerWithPack(pack: Buffer): void {
  answerTo('fetch', (_, response) => {
    response.writeHead(200, result).write(pkt('packfile\n'));
    for (let at = 0; at < pack.byteLength; at += 60_000) {
      response.write(pkt(Buffer.concat([Buffer.from([1]), pack.subarray(at, at + 60_000)])));
    }
    response.end('0000');
  });
}

describe('a server that lies', () => {
  test.each<[string, Buffer]>([
    ['no pack at all', Buffer.from('this is no pack, but some words')],
    ['an empty pack', packOf()],
    ['an object of an unknown type', packOf({ type: 5, data: Buffer.from('x') })],
    ['a size that is too small', packOf({ type: 1, size: 3, data: Buffer.alloc(2_000) })],
    ['a size that is too large', packOf({ type: 1, size: 2 ** 40, data: Buffer.from('x') })],
    ['a bomb', packOf({ type: 2, size: 600 * 2 ** 20, data: Buffer.alloc(1_000) })],
    ['a commit of another id', packOf({ type: 1, data: Buffer.from(`tree ${'1'.repeat(40)}\n`) })],
    ['a delta without a base', packOf({ type: 7, data: Buffer.alloc(60) })],
    ['more objects than it has', Buffer.concat([Buffer.from('PACK\0\0\0\x02\xff\xff\xff\xff', 'latin1')])],
  ])('about the pack: %s', async (_, pack) => {
    answerWithPack(pack);
    await expect(list()).rejects.toMatchObject({ code: 'source_invalid' });
  });

  test('about a file: another content, a longer one, a tree in its place', async () => {
    const source = await open();
    const fetch = (maxBytes = 1_000) =>
      source.fetch({ ref: 'a.md', version: null, mediaType: null, maxBytes }, soon());
    await listAll(source);
    for (const pack of [
      packOf({ type: 3, data: Buffer.from('CONTENT') }),
      packOf({ type: 3, size: 7, data: Buffer.alloc(5_000_000) }),
      packOf({ type: 2, data: Buffer.from('content') }),
      packOf({ type: 3, data: Buffer.from('content') }, { type: 3, data: Buffer.from('content') }),
    ]) {
      answerTo('ls-refs', (_, response) => {
        response.writeHead(200, result);
        response.end(
          Buffer.concat([
            pkt('packfile\n'),
            pkt(Buffer.concat([Buffer.from([1]), pack])),
            Buffer.from('0000'),
          ]),
        );
      });
      await expect(fetch()).rejects.toMatchObject({ code: 'source_invalid' });
    }
    server.intercept = null;
    expect(await fetch()).toMatchObject({ kind: 'content' });
  });

  test('a pack without end, and one that is compressed to almost nothing', async () => {
    const part = pkt(Buffer.concat([Buffer.from([1]), Buffer.alloc(60_000)]));
    answerTo('fetch', (_, response) => {
      response.writeHead(200, result).write(pkt('packfile\n'));
      const more = () => {
        while (!response.destroyed && response.write(part));
      };
      response.on('drain', more);
      more();
    });
    await expect(list()).rejects.toMatchObject({ code: 'source_invalid' });
    const bomb = gzipSync(Buffer.concat([pkt('packfile\n'), ...Array.from({ length: 2_500 }, () => part)]));
    answerTo('fetch', (_, response) => {
      response.writeHead(200, { ...result, 'content-encoding': 'gzip' }).end(bomb);
    });
    await expect(list()).rejects.toMatchObject({ code: 'source_invalid' });
  });

  test.each(['ls-refs', 'fetch'] as const)('lines without end, to %s', async (command) => {
    const lines = Buffer.concat(Array.from({ length: 1_000 }, () => pkt(`${'1'.repeat(40)} refs/heads/x\n`)));
    answerTo(command, (_, response) => {
      response.writeHead(200, result);
      const more = () => {
        while (!response.destroyed && response.write(lines));
      };
      response.on('drain', more);
      more();
    });
    await expect(list()).rejects.toMatchObject({ code: expect.stringMatching(/^source_/) });
  });

  test('lines that break the protocol, and errors in the words of the server', async () => {
    for (const answer of ['zzzz', '0003', pkt('ERR private words\n')]) {
      answerTo('fetch', (_, response) => response.writeHead(200, result).end(answer));
      const failure = await list().catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'source_invalid' });
      expect(String(failure)).not.toContain('private words');
    }
  });

  test('trees that hold one another ten million times, within seconds', async () => {
    const blob = (await server.git('hash-object', '-w', 'a.md')).trim();
    let tree = await server.treeOf(Buffer.from(`100644 blob ${blob}\tf\0`));
    for (let level = 0; level < 7; level += 1) {
      const entries = Array.from({ length: 10 }, (_, index) => `040000 tree ${tree}\t${index}\0`);
      tree = await server.treeOf(Buffer.from(entries.join('')));
    }
    await server.git('reset', '-q', '--hard', 'HEAD');
    await server.git('update-ref', 'HEAD', (await server.git('commit-tree', '-m', 'x', tree)).trim());
    await expect(list()).rejects.toMatchObject({ code: 'scope_invalid' });
    const none = { ...server, scopeConfig: { url: server.url, include: ['none/'] } };
    await expect(listAll(await openSource(gitProvider, none))).rejects.toMatchObject({
      code: 'source_invalid',
    });
  });
});
