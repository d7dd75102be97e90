import { createRequire } from 'node:module';

/** Runs the S3 server of npm: `<port> <folder> <access key> <secret>`. Its bucket is `documents`. */
const require = createRequire(import.meta.url);
const S3rver = require('s3rver') as new (options: object) => { run(): Promise<unknown> };
const { DUMMY_ACCOUNT } = require('s3rver/lib/models/account') as {
  DUMMY_ACCOUNT: { createKeyPair(id: string, secret: string): void; revokeAccessKey(id: string): void };
};

const [port, directory, accessKey, secret] = process.argv.slice(2) as [string, string, string, string];
DUMMY_ACCOUNT.revokeAccessKey('S3RVER');
DUMMY_ACCOUNT.createKeyPair(accessKey, secret);
await new S3rver({
  port: Number(port),
  address: '127.0.0.1',
  silent: true,
  directory,
  configureBuckets: [{ name: 'documents', configs: [] }],
}).run();
