import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { mcpProvider } from '#adapters/sources/mcp/provider.ts';
import type { WatchEnd } from '#domain/knowledge/connectors/source.ts';
import { answerJson, startOddToolServer, type Asked } from '../../support/odd-tool-server.ts';
import { mcpUri, startMcpSource, type McpSourceOptions } from '../../support/sources/mcp-server.ts';
import { openSource } from '../../support/sources/open-source.ts';
import { startEverything } from '../../support/tool-servers.ts';

type Served = Parameters<typeof openSource>[1];

/** A watch under way. */
interface Watch {
  /** Reports until now. */
  changes: () => number;
  /** Requests that were counted in the pace of the host. */
  paced: () => number;
  /** Resolves with whether the subscription depends on the references. */
  subscribed: Promise<boolean | undefined>;
  end: Promise<WatchEnd>;
  stop: () => void;
}

describe('a watch of an MCP source', () => {
  const ends: (() => unknown)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });
  const begin = async (options: McpSourceOptions) => {
    const server = await startMcpSource(options);
    ends.push(() => server.close());
    return server;
  };
  const plainly = ({ url, origin }: { url: string; origin: string }, scope: object = {}): Served => ({
    slug: 'mcp',
    scopeConfig: { url, ...scope },
    credential: null,
    allowedOrigins: [origin],
    roots: {},
  });
  const watch = async (server: Served, refs: string[] = [], limits = {}): Promise<Watch> => {
    const source = await openSource(mcpProvider, server, '', limits);
    const stop = new AbortController();
    ends.push(() => stop.abort());
    const subscribed = Promise.withResolvers<boolean>();
    let changes = 0;
    let paced = 0;
    const pace = (count: number) => {
      paced += count;
      return Promise.resolve();
    };
    const end = source.watch!(
      { refs, pace, onSubscribed: subscribed.resolve, onChange: () => (changes += 1) },
      AbortSignal.any([stop.signal, AbortSignal.timeout(30_000)]),
    );
    const isSubscribed = Promise.race([subscribed.promise, end.then(() => undefined)]);
    isSubscribed.catch(() => undefined);
    return {
      changes: () => changes,
      paced: () => paced,
      subscribed: isSubscribed,
      end,
      stop: () => stop.abort(),
    };
  };
  /** A server of the revision 2025-11-25 that gives its stream to `serve`. */
  const streaming = async (
    resources: object,
    serve: (response: ServerResponse) => void,
    answer: (asked: Asked, response: ServerResponse) => boolean = () => false,
  ) => {
    const server = await startOddToolServer({}, (asked, response, request) => {
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.flushHeaders();
        serve(response);
        return true;
      }
      if (asked?.method === 'initialize') {
        answerJson(response, asked.id, {
          protocolVersion: '2025-11-25',
          capabilities: { resources },
          serverInfo: { name: 'odd', version: '1' },
        });
        return true;
      }
      return asked !== null && answer(asked, response);
    });
    ends.push(() => server.stop());
    return server;
  };
  const event = (message: object) =>
    `event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`;
  const listChanged = event({ method: 'notifications/resources/list_changed' });

  describe.each([
    ['of today', false],
    ['of the earlier revisions', true],
  ])('at a server %s', (_, isEarlier) => {
    it('reports changes of the resources that are known, and of the list', async () => {
      const server = await begin({ isEarlier, subscribe: true, listChanged: true });
      await server.put('a.md', 'one');
      await server.put('b.md', 'one');
      const { changes, subscribed, stop, end } = await watch(server, [mcpUri('a.md')]);
      await subscribed;
      expect(changes()).toBe(0);
      await server.put('a.md', 'two');
      await expect.poll(changes).toBe(1);
      // Unknown to the platform, so not subscribed to.
      await server.put('b.md', 'two');
      await server.put('c.md', 'new');
      await expect.poll(changes).toBe(2);
      await server.remove('c.md');
      await expect.poll(changes).toBe(3);
      stop();
      await expect(end).rejects.toThrow(/abort/i);
    });

    it('uses the list alone where the server has no subscriptions, and subscriptions where it has no list', async () => {
      const list = await begin({ isEarlier, listChanged: true });
      const ofList = await watch(list, [mcpUri('a.md')]);
      expect(await ofList.subscribed).toBe(false);
      await list.put('a.md', 'one');
      await expect.poll(ofList.changes).toBe(1);
      const single = await begin({ isEarlier, subscribe: true });
      await single.put('a.md', 'one');
      const ofSingle = await watch(single, [mcpUri('a.md')]);
      expect(await ofSingle.subscribed).toBe(true);
      // Nothing to subscribe to yet.
      expect(
        await (
          await watch(await begin({ isEarlier, subscribe: true, listChanged: true }))
        ).subscribed,
      ).toBe(true);
      await single.put('a.md', 'two');
      await expect.poll(ofSingle.changes).toBe(1);
    });

    it('is unsupported by a server that declares neither', async () => {
      const { end } = await watch(await begin({ isEarlier }));
      expect(await end).toBe('unsupported');
    });

    it('ends when the stream is cut', async () => {
      const server = await begin({ isEarlier, listChanged: true });
      const { subscribed, end } = await watch(server);
      await subscribed;
      await server.stop();
      expect(await end).toBe('closed');
    });

    it('ignores resources outside of its patterns', async () => {
      const server = await begin({ isEarlier, subscribe: true });
      await server.put('a.md', 'one');
      await server.put('b.txt', 'one');
      const scopeConfig = { ...server.scopeConfig, uri_patterns: ['*.md'] };
      const { changes, subscribed } = await watch({ ...server, scopeConfig }, [
        mcpUri('a.md'),
        mcpUri('b.txt'),
      ]);
      await subscribed;
      await server.put('b.txt', 'two');
      await server.put('a.md', 'two');
      await expect.poll(changes).toBe(1);
    });

    it('names a credential that is refused', async () => {
      const server = await begin({ isEarlier, listChanged: true });
      await server.renewCredential!();
      await expect((await watch(server)).end).rejects.toMatchObject({ code: 'auth_failed' });
    });
  });

  it('subscribes at the reference server', async () => {
    const server = await startEverything();
    ends.push(() => server.stop());
    const refs = ['demo://resource/static/document/architecture.md'];
    const { subscribed, changes, stop, end } = await watch(plainly(server), refs);
    await subscribed;
    stop();
    await expect(end).rejects.toThrow(/abort/i);
    expect(changes()).toBe(0);
  });

  it('goes on with the list where subscriptions are refused, and after ten tries', async () => {
    const refused: unknown[] = [];
    const refuse = (asked: Asked, response: ServerResponse) => {
      if (asked.method !== 'resources/subscribe') return false;
      refused.push(asked.params?.['uri']);
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error: { code: -32_603, message: 'no' } }));
      return true;
    };
    const both = await streaming(
      { subscribe: true, listChanged: true },
      (response) => setTimeout(() => response.write(listChanged), 500),
      refuse,
    );
    const refs = Array.from({ length: 50 }, (_, n) => `a:${n}`);
    const { subscribed, changes } = await watch(plainly(both), refs);
    expect(await subscribed).toBe(false);
    expect(refused).toHaveLength(10);
    await expect.poll(changes).toBe(1);
    const single = await streaming({ subscribe: true }, () => {}, refuse);
    expect(await (await watch(plainly(single), refs)).end).toBe('unsupported');
  });

  it('subscribes to a thousand resources at most, within bytes that a server accepts', async () => {
    const asked: string[] = [];
    const count = (message: Asked, response: ServerResponse) => {
      if (message.method !== 'resources/subscribe') return false;
      asked.push(String(message.params?.['uri']));
      answerJson(response, message.id, {});
      return true;
    };
    const server = await streaming({ subscribe: true }, () => {}, count);
    const short = Array.from({ length: 1_200 }, (_, n) => `a:${n}`);
    const ofShort = await watch(plainly(server), short);
    await ofShort.subscribed;
    expect(asked.splice(0)).toEqual(short.slice(0, 1_000));
    expect(ofShort.paced()).toBe(1_000);
    const long = Array.from({ length: 100 }, (_, n) => `a:${n}`.padEnd(2_000, 'x'));
    await (
      await watch(plainly(server), long)
    ).subscribed;
    expect(asked).toEqual(long.slice(0, 32));
  });

  it.each([[405], [404], [501]])(
    'is unsupported where the stream is refused with HTTP %i',
    async (status) => {
      const server = await startOddToolServer({}, (asked, response, request) => {
        if (request.method === 'GET') {
          response.writeHead(status).end();
          return true;
        }
        if (asked?.method !== 'initialize') return false;
        answerJson(response, asked.id, {
          protocolVersion: '2025-11-25',
          capabilities: { resources: { listChanged: true } },
          serverInfo: { name: 'odd', version: '1' },
        });
        return true;
      });
      ends.push(() => server.stop());
      expect(await (await watch(plainly(server))).end).toBe('unsupported');
      expect(server.requests.filter(({ method }) => method === 'GET')).toHaveLength(1);
    },
  );

  it('reads a flood at a pace', async () => {
    let written = 0;
    const server = await streaming({ listChanged: true }, (response) => {
      const send = () => {
        let isRoom = true;
        while (isRoom && !response.destroyed) {
          isRoom = response.write(listChanged.repeat(100));
          written += 100;
        }
      };
      response.on('drain', send);
      send();
    });
    const { changes, subscribed, end } = await watch(plainly(server));
    await subscribed;
    await sleep(4_000);
    expect(changes()).toBeGreaterThan(50);
    expect(changes()).toBeLessThan(1_500);
    // What is not read waits in the connection.
    expect(written).toBeLessThan(200_000);
    expect(await Promise.race([end, sleep(100, 'under way')])).toBe('under way');
  });

  /** A server of the earlier revisions whose answers to subscriptions are event streams that `more` goes on with. */
  const answering = async (more: (response: ServerResponse) => void) => {
    const open = { now: 0, max: 0, all: 0 };
    const server = await streaming(
      { subscribe: true, listChanged: true },
      () => {},
      ({ id, method }, response) => {
        if (method !== 'resources/subscribe') return false;
        open.all += 1;
        open.max = Math.max(open.max, (open.now += 1));
        response.on('close', () => (open.now -= 1));
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(event({ id, result: {} }));
        more(response);
        return true;
      },
    );
    return { server, open };
  };
  const refsOf = (count: number) => Array.from({ length: count }, (_, n) => `a:${n}`);

  it('reads few notifications in the answer to a subscription', async () => {
    const { server, open } = await answering((response) => {
      const send = () => {
        let isRoom = true;
        while (isRoom && !response.destroyed) isRoom = response.write(listChanged.repeat(10));
      };
      response.on('drain', send);
      setTimeout(send, 20);
    });
    const { changes, subscribed, end } = await watch(plainly(server), refsOf(5));
    await subscribed;
    await sleep(2_000);
    expect(open).toMatchObject({ all: 5, now: 0 });
    expect(changes()).toBeLessThanOrEqual(5 * 16);
    expect(await Promise.race([end, sleep(100, 'under way')])).toBe('under way');
  });

  it('leaves few answers to subscriptions open', async () => {
    const { server, open } = await answering(() => {});
    const { subscribed, stop } = await watch(plainly(server), refsOf(200));
    await subscribed;
    expect(open.all).toBe(200);
    expect(open.max).toBeLessThan(10);
    stop();
    await expect.poll(() => open.now).toBe(0);
  });

  it('ends a stream with an event that is too long', async () => {
    const server = await streaming({ listChanged: true }, (response) => {
      response.write(`data: ${'x'.repeat(70_000)}\n\n`);
    });
    expect(await (await watch(plainly(server))).end).toBe('closed');
  });

  it('ends a stream that is silent for longer than its limit', async () => {
    const server = await streaming({ listChanged: true }, () => {});
    const { end, subscribed } = await watch(plainly(server), [], { idleMs: 500, totalMs: 20_000 });
    await subscribed;
    expect(await end).toBe('closed');
  });

  it('survives notifications that are none', async () => {
    const server = await streaming({ listChanged: true }, (response) => {
      for (const data of ['{}', 'x', '[]', '{"jsonrpc":"2.0","method":"notifications/__proto__"}', 'null'])
        response.write(`data: ${data}\n\n`);
      response.write(event({ method: 'notifications/resources/updated', params: { uri: 7 } }));
      response.write(event({ method: 'notifications/resources/updated' }));
      response.write(listChanged);
    });
    const { changes, subscribed } = await watch(plainly(server));
    await subscribed;
    await expect.poll(changes).toBe(1);
  });

  it('names what it may not reach', async () => {
    const server = await begin({ listChanged: true });
    const { end } = await watch({ ...server, allowedOrigins: [] });
    await expect(end).rejects.toMatchObject({ code: 'scope_invalid' });
  });
});
