import { ApplicationFailure } from '@temporalio/common';
import { pino } from 'pino';
import { expect, it } from 'vitest';
import { sdkLogger } from '#temporal/sdk-logger.ts';

it('says which activity failed and with which code, and nothing of what it worked on', () => {
  const lines: string[] = [];
  const logger = sdkLogger(pino({}, { write: (line) => void lines.push(line) }));
  const error = ApplicationFailure.create({ type: 'source_unreachable', message: 'a canary' });
  const meta = {
    activityType: 'fetchPages',
    workflowId: 'sync/1/2',
    attempt: 3,
    taskToken: 'a canary',
    error,
  };
  logger.warn('Activity failed', meta);
  logger.error('Worker failed', { error: new TypeError('a canary'), details: 'a canary' });
  logger.info('Activity started', meta);
  logger.warn('No workflows registered, not polling for workflow tasks');
  expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
    {
      level: 40,
      sdk: 'Activity failed',
      activityType: 'fetchPages',
      workflowId: 'sync/1/2',
      attempt: 3,
      failure: 'source_unreachable',
    },
    { level: 50, sdk: 'Worker failed', failure: 'TypeError' },
  ]);
  expect(lines.join('')).not.toContain('canary');
});
