import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Connection } from '@temporalio/client';
import { expect, inject, test } from 'vitest';
import { findTemporal, temporalCache } from '../../bin/launcher/find-temporal.ts';

const script = fileURLToPath(new URL('../../deploy/temporal/prepare-namespace.sh', import.meta.url));

test('the namespace of production has its retention and search attributes, also when prepared again', async () => {
  const { address } = inject('temporal');
  const namespace = `production-${randomBytes(4).toString('hex')}`;
  const { path } = await findTemporal({ cacheDir: temporalCache(process.env), env: process.env });
  const prepare = (retention: string) =>
    promisify(execFile)('sh', [script], {
      env: {
        ...process.env,
        PATH: `${dirname(path)}:${process.env['PATH']}`,
        TEMPORAL_ADDRESS: address,
        TEMPORAL_NAMESPACE: namespace,
        RETENTION: retention,
      },
    });
  const connection = await Connection.connect({ address });
  try {
    for (const hours of [72, 96]) {
      await prepare(`${hours}h`);
      const { config } = await connection.workflowService.describeNamespace({ namespace });
      expect(Number(config?.workflowExecutionRetentionTtl?.seconds)).toBe(hours * 3600);
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      expect(customAttributes).toMatchObject({ TenantId: 2, SpaceId: 2 });
    }
  } finally {
    await connection.close();
  }
});
