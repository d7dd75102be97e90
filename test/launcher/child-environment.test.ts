import { expect, it } from 'vitest';
import { childEnvironments } from '../../bin/launcher/child-environment.ts';
import { readSettings } from '../../bin/launcher/settings.ts';

const secret = 'a secret of whoever starts it';
const env = {
  PATH: '/usr/bin',
  HOME: '/home/somebody',
  OPENAI_API_KEY: `${secret}: vendor`,
  MODEL_CREDENTIALS: 'OPENAI_API_KEY,PROXY_KEY@https://models.example.com',
  PROXY_KEY: `${secret}: proxy`,
  TOOL_CREDENTIALS: 'CRM_TOKEN@https://crm.example.com',
  CRM_TOKEN: `${secret}: tool server`,
  AWS_SECRET_ACCESS_KEY: `${secret}: nobody’s`,
  constructor: `${secret}: a name that every object has`,
};

const children = childEnvironments({
  env,
  settings: readSettings(env, [], '/checkout'),
  data: { path: '/checkout/.data', masterKey: 'key', passwords: { runtime: 'r', purge: 'p', verifier: 'v' } },
  adminUrl: 'postgres://boss:word@127.0.0.1:5432/platform',
  temporal: { address: '127.0.0.1:7233', uiUrl: undefined },
  ollamaUrl: undefined,
  provider: { file: '/f', issuer: 'http://127.0.0.1:1', clientSecret: `${secret}: provider` },
});
const secretsOf = (child: NodeJS.ProcessEnv): string[] =>
  Object.keys(child).filter((name) => (child[name] ?? '').includes(secret) || name.startsWith('DATABASE_'));

it('gives each child the secrets that it reads, and no others', () => {
  expect(secretsOf(children.gateway)).toEqual(['DATABASE_URL']);
  expect(secretsOf(children.worker).sort()).toEqual([
    'CRM_TOKEN',
    'DATABASE_PURGE_URL',
    'DATABASE_URL',
    'DATABASE_VERIFIER_URL',
    'OPENAI_API_KEY',
    'PROXY_KEY',
  ]);
  expect(secretsOf(children.migrate).sort()).toEqual([
    'DATABASE_ADMIN_URL',
    'DATABASE_PURGE_URL',
    'DATABASE_URL',
    'DATABASE_VERIFIER_URL',
  ]);
  expect(children.gateway['MODEL_CREDENTIALS']).toBeUndefined();
  expect(children.gateway['ANCHOR_FILE']).toBeUndefined();
  expect(children.worker['PORT']).toBeUndefined();
});

it('gives every child the variables that locate its programs and the other servers', () => {
  for (const child of Object.values(children)) {
    expect(child).toMatchObject({
      PATH: '/usr/bin',
      HOME: '/home/somebody',
      MASTER_KEY: 'key',
      TEMPORAL_ADDRESS: '127.0.0.1:7233',
    });
  }
});
