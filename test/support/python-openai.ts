import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Reader, Received } from './openai-clients.ts';
import { installOrSay, installPackages, type Installed, type PackageSet } from './python-packages.ts';

const scriptOf = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const openai: PackageSet = { name: 'openai-2.54.0', packages: ['openai==2.54.0'] };
/** Packages that build on it, with the version that they require. */
const frameworks: PackageSet = {
  name: 'frameworks-2026-11',
  packages: ['openai==3.54.0', 'langchain-openai==1.7.3', 'pydantic-ai-slim[openai]==2.68.0'],
};

/** OpenAI's package for Python, installed once outside the checkout; the reason where it is impossible. */
export function pythonPackage(): Promise<Installed> {
  return installOrSay(openai);
}

/** Readers that use LangChain and Pydantic AI. @throws when these cannot be installed */
export async function frameworkReaders(): Promise<Reader[]> {
  const { path } = await installPackages(frameworks);
  const reader = (name: string, mode: string): Reader => ({
    name,
    read: (target, received) => read({ path, script: 'framework_reader.py' }, { ...target, mode }, received),
  });
  return [
    reader('LangChain, stream', 'langchain_stream'),
    { ...reader('LangChain, invoke', 'langchain_invoke'), waits: true },
    reader('Pydantic AI, run_stream', 'pydantic_ai_stream'),
    { ...reader('Pydantic AI, run', 'pydantic_ai_run'), waits: true },
  ];
}

/** Readers that use it; none where it is missing. */
export async function pythonReaders(): Promise<{ readers: Reader[]; missing: string | null }> {
  const found = await pythonPackage();
  if ('missing' in found) return { readers: [], missing: found.missing };
  const reader = (name: string, mode: string): Reader => ({
    name: `Python's openai, ${name}`,
    read: (target, received) => read({ ...found, script: 'openai_reader.py' }, { ...target, mode }, received),
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

/** Each line of the script is one piece of text, the last one the joined text. */
async function read(
  { path, script }: { path: string; script: string },
  order: object,
  received: (piece: string) => void,
): Promise<Received> {
  const child = spawn('python3', [scriptOf(script), JSON.stringify(order)], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', PYTHONPATH: path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  for await (const line of createInterface(child.stdout)) {
    const said = JSON.parse(line) as string | Received;
    if (typeof said !== 'string') return said;
    received(said);
  }
  throw new Error(`The Python client gave up: ${complaint.slice(-2_000)}`);
}
