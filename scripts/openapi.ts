import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { buildApp } from '#api/app.ts';
import { assemble } from '#api/compose.ts';
import { parseGatewayConfig } from '#domain/foundation/kernel/config.ts';
import { checkout } from './check/checkout.ts';

const snapshot = join(checkout, 'docs/openapi.json');

/** The OpenAPI document that a gateway serves, from a gateway that is wired but not connected. */
async function describe(): Promise<string> {
  const gateway = assemble(
    parseGatewayConfig({
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      TEMPORAL_ADDRESS: '127.0.0.1:1',
      MASTER_KEY: Buffer.alloc(32).toString('base64'),
      LOG_LEVEL: 'silent',
    }),
  );
  const app = await buildApp(gateway);
  try {
    const answer = await app.inject('/api/openapi.json');
    if (answer.statusCode !== 200) {
      throw new Error(`The gateway answered ${answer.statusCode} instead of its description.`);
    }
    return `${JSON.stringify(answer.json(), null, 2)}\n`;
  } finally {
    await app.close();
    await gateway.close();
  }
}

const current = await describe();
const name = relative(checkout, snapshot);
if (process.argv.includes('--check')) {
  const same = readFileSync(snapshot, 'utf8') === current;
  process.stdout.write(
    same
      ? `${name} is what the gateway serves.\n`
      : `${name} is not what the gateway serves: run npm run openapi.\n`,
  );
  process.exitCode = same ? 0 : 1;
} else {
  mkdirSync(dirname(snapshot), { recursive: true });
  writeFileSync(snapshot, current);
  process.stdout.write(`${name} is written.\n`);
}
