import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import { NotBeneath } from './open-beneath.ts';

/** A symbolic link and a folder count as absent where a file is asked for. */
const absent = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EISDIR', 'ENXIO', 'ENODEV', 'EMLINK', 'ENAMETOOLONG']);
const forbidden = new Set(['EACCES', 'EPERM']);

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

export const isAbsent = (error: unknown): boolean => error instanceof NotBeneath || absent.has(codeOf(error));

export const isForbidden = (error: unknown): boolean => forbidden.has(codeOf(error));

/** Any error of the file system that says nothing about one file. */
export function fileFailure(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof SourceFailure || signal.aborted) {
    return error;
  }
  return new SourceFailure('source_unreachable', 'The folder cannot be read now.', { cause: error });
}

/** The folder of the scope itself. */
export function folderFailure(error: unknown, signal: AbortSignal): unknown {
  if (isForbidden(error)) {
    return new SourceFailure('auth_failed', 'The platform may not read the folder of the scope.', {
      cause: error,
    });
  }
  return isAbsent(error)
    ? new SourceFailure('scope_invalid', 'The folder of the scope does not exist in its root.', {
        cause: error,
      })
    : fileFailure(error, signal);
}

/** A file system that hangs, such as one of a server that is gone, must not hold its caller. */
export function withinTime<T>(ms: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const abort = () => reject(signal.reason as Error);
  const late = () =>
    reject(new SourceFailure('source_unreachable', 'The file system of the root does not answer.'));
  const timer = setTimeout(late, ms);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) {
    abort();
  } else {
    work().then(resolve, reject);
  }
  return promise.finally(() => {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  });
}
