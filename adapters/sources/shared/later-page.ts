import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

/**
 * A page of a listing. To a later page, a refusal of the request means that the source no longer accepts its cursor.
 * @throws SourceFailure `cursor_expired` then
 */
export async function laterPage<T>(isLater: boolean, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw isLater && error instanceof SourceFailure && error.code === 'scope_invalid'
      ? new SourceFailure('cursor_expired', 'The listing has to begin again.', { cause: error })
      : error;
  }
}
