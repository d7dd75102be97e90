import { ApplicationFailure, CancelledFailure, TemporalFailure } from '@temporalio/common';
import { CompleteAsyncError } from '@temporalio/activity';
import type { ActivityInboundCallsInterceptor } from '@temporalio/worker';
import type { Logger } from 'pino';

/**
 * Histories hold no content: an activity's error is reduced to its class name and code. Database errors carry SQL with
 * its values, vendor errors the prompt.
 */
export function opaqueFailures(logger: Logger): ActivityInboundCallsInterceptor {
  return {
    async execute(input, next) {
      try {
        return await next(input);
      } catch (error) {
        if (
          error instanceof TemporalFailure ||
          error instanceof CancelledFailure ||
          error instanceof CompleteAsyncError
        ) {
          throw error;
        }
        const { name, code, frames } = describe(error);
        logger.error({ error: name, code, frames }, 'activity failed');
        throw ApplicationFailure.create({ type: code ?? name, message: name, nonRetryable: false });
      }
    },
  };
}

function describe(error: unknown): { name: string; code: string | undefined; frames: string[] } {
  if (!(error instanceof Error)) {
    return { name: 'unknown', code: undefined, frames: [] };
  }
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  const frames = (error.stack ?? '').split('\n').filter((line) => line.trimStart().startsWith('at '));
  return { name: error.name, code, frames: frames.slice(0, 6).map((line) => line.trim()) };
}
