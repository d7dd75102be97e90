import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CopyObjectCommand, DeleteObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { makeDataFolder } from '../data-folder.ts';
import { claimPort } from '../free-port.ts';
import { startHttpRelay, type Interception } from './http-relay.ts';
import type { SourceServer } from './source-server.ts';

export interface S3Server extends SourceServer {
  renewCredential(): Promise<{ kind: 'access_key'; access_key_id: string; secret_access_key: string }>;
  intercept(interception: Interception | null): void;
}

export type S3Software = 'rclone' | 's3rver';

const bucket = 'documents';

/** Where `go install` leaves rclone, or the path; versions before 1.65 cannot serve S3. Null: there is none. */
export function findRclone(): string | null {
  for (const command of ['rclone', join(homedir(), 'go/bin/rclone')]) {
    try {
      // An older version answers with the help of `serve`, and succeeds.
      const help = execFileSync(command, ['serve', 's3', '--help'], { stdio: 'pipe', encoding: 'utf8' });
      if (help.includes('rclone serve s3')) {
        return command;
      }
    } catch {
      // Not there.
    }
  }
  return null;
}

/** A bucket on a real server, behind a relay that counts its requests. */
export async function startS3Server(software: S3Software = 's3rver'): Promise<S3Server> {
  const folder = makeDataFolder();
  mkdirSync(join(folder, bucket));
  const port = await claimPort();
  let keys = newKeys();
  let child = await startProcess(software, { port, folder, keys });
  const relay = await startHttpRelay(() => port);
  let client = clientOf(port, keys);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  };
  const start = async () => {
    child = await startProcess(software, { port, folder, keys });
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

async function startProcess(software: S3Software, { port, folder, keys }: Running): Promise<ChildProcess> {
  const child = software === 'rclone' ? runRclone({ port, folder, keys }) : runS3rver({ port, folder, keys });
  const until = Date.now() + 30_000;
  while (!(await answers(port))) {
    if (Date.now() > until || child.exitCode !== null) {
      throw new Error(`${software} does not start.`);
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  return child;
}

function runRclone({ port, folder, keys }: Running): ChildProcess {
  const options = ['--addr', `127.0.0.1:${port}`, '--auth-key', `${keys.id},${keys.secret}`, '--config', ''];
  return spawn(findRclone() ?? 'rclone', ['serve', 's3', ...options, folder], { stdio: 'ignore' });
}

/** Its continuation tokens are encrypted with an algorithm of OpenSSL's legacy provider. */
function runS3rver({ port, folder, keys }: Running): ChildProcess {
  const script = fileURLToPath(new URL('./s3rver-process.ts', import.meta.url));
  const options = ['--openssl-legacy-provider', '--no-warnings', script];
  return spawn(process.execPath, [...options, String(port), folder, keys.id, keys.secret], {
    stdio: 'ignore',
  });
}

async function answers(port: number): Promise<boolean> {
  try {
    await fetch(`http://127.0.0.1:${port}/`, { signal: AbortSignal.timeout(2_000) });
    return true;
  } catch {
    return false;
  }
}
