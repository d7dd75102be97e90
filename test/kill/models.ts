import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { NewModel } from '#domain/capabilities/models/add-model.ts';
import { startSilentRelay, throughRelay, type SilentRelay } from '../support/silent-relay.ts';
import { startWireFake } from '../support/wire-fakes/fake-server.ts';
import { fakeKind, fakeModel } from '../support/wire-fakes/index.ts';
import { scriptedModel } from '../support/world.ts';
import type { Part } from './scripts.ts';

/** The vendors of a run, which are never killed. */
export interface Models {
  rows: NewModel[];
  origins: string[];
  /** Before the vendor that speaks Chat Completions. */
  relay: SilentRelay;
  stop(): Promise<unknown>;
}

export async function startModels(folder: string, parts: readonly Part[]): Promise<Models> {
  const chat = await startChat(folder, parts);
  const relay = await startSilentRelay({ port: Number(new URL(chat.url).port) });
  const url = throughRelay(chat.url, relay);
  const fakes = await Promise.all(
    parts
      .filter(({ wire }) => wire !== undefined)
      .map(async (part) => ({ part, fake: await startFake(part) })),
  );
  const rows = parts.map(({ script, continuation, wire }) => {
    const own = fakes.find(({ part }) => part.script === script);
    return own === undefined || wire === undefined
      ? scriptedModel({ url }, script.name, continuation)
      : fakeModel(fakeKind(wire), own.fake.origin, { alias: script.name, continuation });
  });
  return {
    rows,
    origins: [new URL(url).origin, ...fakes.map(({ fake }) => fake.origin)],
    relay,
    stop: () => Promise.all([relay.close(), chat.stop(), ...fakes.map(({ fake }) => fake.stop())]),
  };
}

/** A vendor that plays the part's script. */
function startFake({ script, wire = 'openai' }: Part) {
  const { text, toolRounds = 0, toolQuery, tokenDelayMs = 0 } = script;
  return startWireFake(fakeKind(wire).vendor(), {
    text,
    toolRounds,
    toolQuery: String(toolQuery),
    tokenDelayMs,
  });
}

/** The scripted model as a process of its own. */
async function startChat(
  folder: string,
  parts: readonly Part[],
): Promise<{ url: string; stop: () => Promise<void> }> {
  const scripts = join(folder, 'scripts.json');
  writeFileSync(scripts, JSON.stringify(parts.map((part) => part.script)));
  const entry = fileURLToPath(new URL('../support/model-server.ts', import.meta.url));
  const child = spawn(process.execPath, [entry, '--scripts', scripts], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const abandon = () => void child.kill('SIGKILL');
  process.once('exit', abandon);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return {
    url: (JSON.parse(line) as { url: string }).url,
    stop: async () => {
      process.off('exit', abandon);
      child.kill('SIGKILL');
      await exited;
    },
  };
}
