import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { CopyObjectCommand, DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { makeDataFolder } from '../data-folder.ts';
import { claimPort } from '../free-port.ts';
import { startHttpRelay, type Interception } from './http-relay.ts';
import { obtainRclone } from './rclone-program.ts';
import type { SourceServer } from './source-server.ts';

export interface S3Server extends SourceServer {
  renewCredential(): Promise<{ kind: 'access_key'; access_key_id: string; secret_access_key: string }>;
  intercept(interception: Interception | null): void;
}

const bucket = 'documents';

/** Why there can be no server; null: it can. */
export async function withoutS3(): Promise<string | null> {
  const rclone = await obtainRclone();
  return 'missing' in rclone ? rclone.missing : null;
}

/** A bucket that rclone serves, behind a relay that counts its requests. */
export async function startS3Server(): Promise<S3Server> {
  const rclone = await obtainRclone();
  if ('missing' in rclone) throw new Error(rclone.missing);
  const folder = makeDataFolder();
  mkdirSync(join(folder, bucket));
  const port = await claimPort();
  let keys = newKeys();
  let child = await startProcess(rclone.path, { port, folder, keys });
  const relay = await startHttpRelay(() => port);
  let client = clientOf(port, keys);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  };
  const start = async () => {
    child = await startProcess(rclone.path, { port, folder, keys });
  };
  const remove = async (name: string) => {
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: name }));
  };
  return {
    slug: 's3',
    scopeConfig: { endpoint: relay.origin, bucket },
    credential: { origin: relay.origin, value: credentialOf(keys) },
    allowedOrigins: [relay.origin],
    roots: {},
    put: async (name, content) => {
      await client.send(new PutObjectCommand({ Bucket: bucket, Key: name, Body: Buffer.from(content) }));
    },
    move: async (from, to) => {
      const CopySource = `/${bucket}/${from.split('/').map(encodeURIComponent).join('/')}`;
      await client.send(new CopyObjectCommand({ Bucket: bucket, Key: to, CopySource }));
      await remove(from);
    },
    remove,
    renewCredential: async () => {
      keys = newKeys();
      client = clientOf(port, keys);
      await stop();
      await start();
      return credentialOf(keys);
    },
    requests: relay.requests,
    intercept: relay.intercept,
    stop,
    start,
    close: async () => {
      await stop();
      await relay.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

interface Keys {
  id: string;
  secret: string;
}

const newKeys = (): Keys => ({
  id: `AK${randomBytes(8).toString('hex').toUpperCase()}`,
  secret: randomBytes(20).toString('hex'),
});

const credentialOf = ({ id, secret }: Keys) => ({
  kind: 'access_key' as const,
  access_key_id: id,
  secret_access_key: secret,
});

function clientOf(port: number, { id, secret }: Keys): S3Client {
  return new S3Client({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: id, secretAccessKey: secret },
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
}

interface Running {
  port: number;
  folder: string;
  keys: Keys;
}

async function startProcess(program: string, { port, folder, keys }: Running): Promise<ChildProcess> {
  const options = ['--addr', `127.0.0.1:${port}`, '--auth-key', `${keys.id},${keys.secret}`, '--config', ''];
  const child = spawn(program, ['serve', 's3', ...options, folder], { stdio: 'ignore' });
  const until = Date.now() + 30_000;
  while (!(await answers(port))) {
    if (Date.now() > until || child.exitCode !== null) {
      throw new Error('rclone does not start.');
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  return child;
}

async function answers(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}
