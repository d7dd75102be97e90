import { ApplicationFailure, type LogMetadata, type Logger as SdkLogger } from '@temporalio/common';
import type { Logger } from 'pino';

/** What a message is about: names, ids and numbers. Its other members hold inputs and texts of errors. */
const shown = [
  'sdkComponent',
  'activityType',
  'workflowType',
  'workflowId',
  'attempt',
  'durationMs',
] as const;

/** Of a queue that has activities only, such as that of watches: it is what such a queue is for. */
const expected = 'No workflows registered, not polling for workflow tasks';

/** Warnings and errors of the SDK, with the activity or workflow that they concern and the code of its failure. */
export function sdkLogger(logger: Logger): SdkLogger {
  return {
    log: () => {},
    trace: () => {},
    debug: () => {},
    info: () => {},
    warn: (message, meta) => {
      if (message !== expected) logger.warn({ sdk: message, ...about(meta) }, 'temporal');
    },
    error: (message, meta) => logger.error({ sdk: message, ...about(meta) }, 'temporal'),
  };
}

function about(meta: LogMetadata = {}): LogMetadata {
  const error: unknown = meta['error'];
  const failure =
    error instanceof ApplicationFailure ? error.type : error instanceof Error ? error.name : undefined;
  return {
    ...Object.fromEntries(shown.filter((name) => meta[name] !== undefined).map((name) => [name, meta[name]])),
    ...(failure == null ? {} : { failure }),
  };
}
