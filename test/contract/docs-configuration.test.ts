import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import {
  ConfigError,
  parseGatewayConfig,
  parseMigratorConfig,
  parseWorkerConfig,
} from '#domain/foundation/kernel/config.ts';
import { childEnvironments, findOllama } from '../../bin/launcher/child-environment.ts';
import { downloadTemporal } from '../../bin/launcher/download-temporal.ts';
import { silentProgress } from '../../bin/launcher/output.ts';
import { readSettings } from '../../bin/launcher/settings.ts';
import { connect } from '../../bin/platform/connect.ts';

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8');
const [, ofLauncher = '', ofProcesses = '', ofCommands = ''] = page.split(/^## Settings of .*$/m);
const rowsOf = (section: string) =>
  [...section.matchAll(/^\|(.*)\|$/gm)].map(([, row]) => row!.split('|').map((cell) => cell.trim()));
const namesIn = (text: string) => [...text.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name]) => name!);

type Environment = Record<string, string | undefined>;

/** The names under which the work looks into its environment, in which each has the value of `valueOf`. */
async function namesRead(
  work: (env: Environment) => unknown,
  valueOf: (name: string) => string | undefined = () => undefined,
): Promise<string[]> {
  const names = new Set<string>();
  const look = (name: string | symbol) => {
    names.add(String(name));
    return valueOf(String(name));
  };
  const env = new Proxy<Environment>(
    {},
    {
      get: (_, name) => look(name),
      has: (_, name) => look(name) !== undefined,
      getOwnPropertyDescriptor: (_, name) => {
        const value = look(name);
        return value === undefined ? value : { value, enumerable: true, configurable: true };
      },
    },
  );
  try {
    await work(env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
  }
  // An empty list of keys names the variable ''.
  return [...names].filter((name) => name !== '');
}

const childrenIn = (env: Environment) =>
  childEnvironments({
    env,
    settings: readSettings({}, [], '/checkout'),
    data: { path: '/data', masterKey: 'key', passwords: { runtime: 'r', purge: 'p', verifier: 'v' } },
    adminUrl: 'postgres://boss:word@127.0.0.1:5432/platform',
    temporal: { address: '127.0.0.1:7233', uiUrl: undefined },
    ollamaUrl: undefined,
    provider: undefined,
  });
const readByChildren = await namesRead(childrenIn);
const readByOllama = await namesRead(findOllama, (name) =>
  name === 'OLLAMA_URL' ? undefined : 'http://127.0.0.1:1',
);
const readByLauncher = [
  ...readByChildren,
  ...readByOllama,
  ...(await namesRead((env) => readSettings(env, [], '/checkout'))),
  ...(await namesRead(
    (env) => downloadTemporal({ target: '/nowhere', env, progress: silentProgress }).catch(() => undefined),
    () => 'http://127.0.0.1:1',
  )),
];
const gateway = await namesRead(parseGatewayConfig);
const worker = await namesRead(parseWorkerConfig);

it('the launcher’s settings are those that it reads, with a star where a process receives them', () => {
  const names = rowsOf(ofLauncher).flatMap(([name = '']) => namesIn(name));
  expect(names.toSorted()).toEqual([...new Set(readByLauncher)].toSorted());
  const passed = [...readByChildren, ...readByOllama].toSorted();
  const starred = [...ofLauncher.matchAll(/`(\w+)`(?: or `(\w+)`)? \*/g)].flatMap(([, ...found]) =>
    found.filter((name) => name !== undefined),
  );
  expect(starred.toSorted()).toEqual(passed);
});

it('the settings of gateway and worker are those that one of them reads, at the processes that do', () => {
  const rows = rowsOf(ofProcesses).filter(([name = '']) => name.startsWith('`'));
  // The names of keys are a setting themselves: `MODEL_CREDENTIALS`.
  const names = rows.flatMap(([name = '']) => namesIn(name)).filter((name) => name !== 'OPENAI_API_KEY');
  expect(names.toSorted()).toEqual([...new Set([...gateway, ...worker])].toSorted());
  const readBy: Record<string, readonly string[]> = {
    gateway,
    worker,
    both: gateway.filter((name) => worker.includes(name)),
  };
  const wrong = rows.filter(
    ([name = '', , process = '']) =>
      !name.includes('OPENAI_API_KEY') && !namesIn(name).every((each) => readBy[process]!.includes(each)),
  );
  expect(wrong).toEqual([]);
});

it('the settings of the commands exist', async () => {
  const migrator = await namesRead(parseMigratorConfig);
  const client = await namesRead((env) => connect({ url: undefined, keyFile: undefined }, env), named);
  expect(
    rowsOf(ofCommands)
      .flatMap(([name = '']) => namesIn(name))
      .toSorted(),
  ).toEqual(client.toSorted());
  const known = new Set([...migrator, ...client, ...gateway, ...worker]);
  expect(namesIn(ofCommands).filter((name) => !known.has(name))).toEqual([]);
  expect(namesIn(ofCommands)).toEqual(expect.arrayContaining(migrator));
});

/** A client needs a key; without a file it is the variable's. */
function named(name: string): string | undefined {
  return name === 'PLATFORM_API_KEY' ? 'ak.x.y' : undefined;
}
