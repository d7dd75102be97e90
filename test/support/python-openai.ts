import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Reader, Told } from './openai-clients.ts';

const run = promisify(execFile);
const version = '2.54.0';
const script = fileURLToPath(new URL('openai_reader.py', import.meta.url));

/** OpenAI's package for Python, installed once outside the checkout; why not, where that cannot be. */
export async function pythonPackage(): Promise<{ path: string } | { missing: string }> {
  return install().catch((error: unknown) => ({
    missing: error instanceof Error ? error.message : String(error),
  }));
}

/** Readers that use it; none where it is missing. */
export async function pythonReaders(): Promise<{ readers: Reader[]; missing: string | null }> {
  const found = await pythonPackage();
  if ('missing' in found) return { readers: [], missing: found.missing };
  const reader = (name: string, mode: string): Reader => ({
    name: `Python's openai, ${name}`,
    read: (target, heard) => read(found.path, { ...target, mode }, heard),
  });
  return {
    readers: [
      reader('raw events', 'raw'),
      reader('.stream() resumed by id', 'resumed'),
      { ...reader('JSON', 'json'), waits: true },
    ],
    missing: null,
  };
}

async function install(): Promise<{ path: string }> {
  const { stdout } = await run('python3', [
    '-c',
    'import sys, pip; print("%d.%d" % sys.version_info[:2])',
  ]).catch(() => {
    throw new Error('python3 or pip is not here');
  });
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'platform');
  const path = join(cache, `python${stdout.trim()}-openai-${version}`);
  if (await stat(path).catch(() => null)) return { path };
  await mkdir(cache, { recursive: true });
  const staged = await mkdtemp(`${path}.`);
  const options = ['--quiet', '--disable-pip-version-check', '--no-input'];
  await run('python3', ['-m', 'pip', 'install', ...options, '--target', staged, `openai==${version}`]).catch(
    async () => {
      await rm(staged, { recursive: true, force: true });
      throw new Error(`pip could not install openai ${version}`);
    },
  );
  // Whoever comes second finds the first one's folder in its place.
  await rename(staged, path).catch(() => rm(staged, { recursive: true, force: true }));
  return { path };
}

/** Each line of the script is one piece of text, the last one what it put together. */
async function read(path: string, order: object, heard: (piece: string) => void): Promise<Told> {
  const child = spawn('python3', [script, JSON.stringify(order)], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', PYTHONPATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  for await (const line of createInterface(child.stdout)) {
    const said = JSON.parse(line) as string | Told;
    if (typeof said !== 'string') return said;
    heard(said);
  }
  throw new Error(`The Python client gave up: ${complaint.slice(-2_000)}`);
}
