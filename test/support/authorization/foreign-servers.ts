import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { claimPort } from '../free-port.ts';
import { installOrSay } from '../python-packages.ts';

/** A tool server with an authorization server of its own, both written elsewhere, in a process of its own. */
export interface ForeignServer {
  url: string;
  /** Of the tool server and its authorization server. */
  origins: string[];
  stop(): Promise<void>;
}

const require = createRequire(import.meta.url);
const fastmcp = { name: 'fastmcp-4.2.3', packages: ['fastmcp==4.2.3'] };
const startMs = 60_000;

/** The example server of version 1 of the protocol's SDK, with its demonstration of an authorization server. */
export async function startSdkExample(): Promise<ForeignServer> {
  const [port, authorizationPort] = [await claimPort(), await claimPort()];
  const script = require.resolve('@modelcontextprotocol/sdk/examples/server/simpleStreamableHttp.js');
  const env = { MCP_PORT: String(port), MCP_AUTH_PORT: String(authorizationPort) };
  const origins = [`http://localhost:${port}`, `http://localhost:${authorizationPort}`];
  return started([process.execPath, script, '--oauth', '--oauth-strict'], env, origins);
}

/** FastMCP with its provider in memory; the reason where Python's packages cannot be installed. */
export async function startFastMcp(): Promise<ForeignServer | { missing: string }> {
  const installed = await installOrSay(fastmcp);
  if ('missing' in installed) return installed;
  const port = await claimPort();
  const script = fileURLToPath(new URL('fastmcp_server.py', import.meta.url));
  return started(['python3', script, String(port)], { PYTHONPATH: installed.path }, [
    `http://127.0.0.1:${port}`,
  ]);
}

/** Runs a program until each of its origins answers. */
export async function started(
  [program = '', ...given]: string[],
  env: Record<string, string>,
  origins: string[],
): Promise<ForeignServer> {
  const child = spawn(program, given, {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2_000)));
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await exited;
  };
  for (const origin of origins) {
    for (const deadline = Date.now() + startMs; !(await answers(origin)); await sleep(100)) {
      if (child.exitCode !== null || Date.now() > deadline) {
        await stop();
        throw new Error(`${given[0]} did not start: ${complaint}`);
      }
    }
  }
  return { url: `${origins[0]}/mcp`, origins, stop };
}

async function answers(origin: string): Promise<boolean> {
  const answer = await fetch(origin).catch(() => null);
  await answer?.body?.cancel();
  return answer !== null;
}
