import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { claimPort } from './free-port.ts';
import type { Hold, ToolLine } from './tool-server.ts';

export interface ToolServer {
  /** Of the MCP endpoint. */
  url: string;
  origin: string;
  child: ChildProcess;
  /** The server's records, in order. */
  arrivals(): ToolLine[];
  effects(): ToolLine[];
  control(change: { hold?: Hold } & Record<string, unknown>): Promise<{ holding: number }>;
  /** Resolves when that many calls wait at the hold. */
  held(calls?: number): Promise<void>;
  stop(): Promise<void>;
}

export interface ToolServerOptions {
  era?: 'both' | 'modern' | 'legacy';
  /** Bearer token that every request must carry. */
  token?: string;
  /** Files of an earlier server that it continues. */
  log?: string;
  port?: number;
}

/** Ours (tool-server.ts) as a process of its own. */
export async function startToolServer(options: ToolServerOptions = {}): Promise<ToolServer> {
  const log = options.log ?? join(await mkdtemp(join(tmpdir(), 'tools-')), 'log');
  const file = fileURLToPath(new URL('./tool-server.ts', import.meta.url));
  const args = [file, '--log', log, '--era', options.era ?? 'both', '--port', String(options.port ?? 0)];
  const child = spawn(process.execPath, options.token ? [...args, '--token', options.token] : args, {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const { url } = JSON.parse(line) as { url: string };
  const { origin } = new URL(url);
  const read = (kind: string): ToolLine[] => {
    const path = `${log}.${kind}.jsonl`;
    return existsSync(path)
      ? readFileSync(path, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map((each) => JSON.parse(each) as ToolLine)
      : [];
  };
  const server: ToolServer = {
    url,
    origin,
    child,
    arrivals: () => read('arrivals'),
    effects: () => read('effects'),
    control: async (change) => {
      const answer = await fetch(`${origin}/control`, { method: 'POST', body: JSON.stringify(change) });
      return (await answer.json()) as { holding: number };
    },
    held: async (calls = 1) => {
      for (
        const deadline = Date.now() + 20_000;
        (await server.control({})).holding < calls;
        await sleep(20)
      ) {
        if (Date.now() > deadline) throw new Error('No call came to the hold in time.');
      }
    },
    stop: () => ended(child),
  };
  return server;
}

/** The reference server with all features, in the earlier revision of the protocol. */
export async function startEverything(
  given?: number,
): Promise<Pick<ToolServer, 'url' | 'origin' | 'child' | 'stop'>> {
  const port = given ?? (await claimPort());
  const entry = fileURLToPath(
    new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
  );
  const child = spawn(process.execPath, [entry, 'streamableHttp'], {
    env: { PATH: process.env.PATH ?? '', PORT: String(port) },
    stdio: 'ignore',
  });
  const origin = `http://127.0.0.1:${port}`;
  for (let waited = 0; ; waited += 50) {
    const up = await fetch(`${origin}/mcp`).then(
      () => true,
      () => false,
    );
    if (up) break;
    if (waited > 15_000) throw new Error('The reference server did not start.');
    await sleep(50);
  }
  return { url: `${origin}/mcp`, origin, child, stop: () => ended(child) };
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}
