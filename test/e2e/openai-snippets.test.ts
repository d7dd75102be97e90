import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { pythonPackage } from '../support/python-openai.ts';
import { startStack, type Stack } from '../support/stack.ts';
import { createWorld, type World } from '../support/world.ts';

const run = promisify(execFile);
const cwd = fileURLToPath(new URL('../../', import.meta.url));
const page = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
const section = page.slice(page.indexOf('## Any OpenAI client'), page.indexOf('### What is different'));
const snippets = [...section.matchAll(/```(\w+)\n([^`]+)```/g)].map(([, language = '', code = '']) => ({
  language,
  code,
}));
const python = await pythonPackage();
const folder = 'path' in python ? python.path : '';

const commands: Record<string, (code: string) => [string, string[]]> = {
  sh: (code) => ['sh', ['-c', code]],
  js: (code) => [process.execPath, ['--input-type=module', '-e', code]],
  python: (code) => ['python3', ['-c', code]],
};

let database: TestDatabase;
let stack: Stack;
let world: World;

beforeAll(async () => {
  database = await createTestDatabase();
  world = await createWorld(database.unitOfWork);
  stack = await startStack({ database });
});
afterAll(async () => {
  await stack?.stop();
  await database?.drop();
});

describe('the snippets of the page for OpenAI’s clients', () => {
  it('are one each for a shell, the openai package, Python and the AI SDK', () => {
    expect(snippets.map(({ language }) => language)).toEqual(['sh', 'js', 'python', 'js']);
  });

  for (const [n, { language, code }] of snippets.entries()) {
    const missing = language === 'python' && 'missing' in python ? ` (${python.missing})` : '';
    it.skipIf(missing !== '')(`print an answer unchanged: ${n + 1}, ${language}${missing}`, async () => {
      const [command, args] = commands[language]!(code);
      const { stdout } = await run(command, args, {
        cwd,
        env: {
          PATH: process.env.PATH ?? '',
          HOME: process.env.HOME ?? '',
          PYTHONPATH: folder,
          BASE_URL: `${stack.gateways[0]!.url}/api/v1/spaces/${world.spaceId}/openai`,
          API_KEY: world.apiKey,
        },
      });
      // The builtin model finds nothing to quote here, and says so.
      expect(stdout).toMatch(/found nothing|nothing/i);
    });
  }
});
