import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
  type GetObjectCommandOutput,
  type ListObjectsV2CommandOutput,
} from '@aws-sdk/client-s3';
import type { CredentialValue } from '#domain/capabilities/credentials/credential-value.ts';
import {
  SourceFailure,
  type Fetched,
  type FetchInput,
  type ListInput,
  type Source,
  type SourcePage,
} from '#domain/knowledge/connectors/source.ts';
import { requestFailure } from '../shared/http-failure.ts';
import { filterInTurns } from '#domain/foundation/kernel/loop-turns.ts';
import { fileFilter } from '../shared/path-patterns.ts';
import { maxPages, readCursor, writeCursor } from './cursor.ts';
import { fetchHandler } from './fetch-handler.ts';
import { canBeRequested, decodeKey, etagOf, listedObject, nameOf, versionOf } from './listed-object.ts';
import { s3Failure, serviceAnswer, type ServiceAnswer } from './s3-failure.ts';
import type { S3Scope } from './scope.ts';

const pageKeys = 1_000;

export interface S3Access {
  fetch: typeof globalThis.fetch;
  credential: Extract<CredentialValue, { kind: 'access_key' }>;
}

export function s3Source(scope: S3Scope, access: S3Access): Source {
  const client = createClient(scope, access);
  const accepts = fileFilter(scope);
  const { bucket: Bucket, prefix: Prefix } = scope;
  const isInScope = (key: string) => key.startsWith(Prefix) && accepts(nameOf(key, Prefix));
  /** By the permission that listings need. Where that is refused, too, nothing is known of the object: it stays. */
  const isListed = async (key: string, abortSignal: AbortSignal): Promise<boolean> => {
    const listing = new ListObjectsV2Command({ Bucket, Prefix: key, MaxKeys: 1, EncodingType: 'url' });
    try {
      return keysOf(await client.send(listing, { abortSignal })).some((found) => found.key === key);
    } catch (error) {
      return serviceAnswer(error)?.status === 403 || failed(abortSignal)(error);
    }
  };
  return {
    check: async (abortSignal) => {
      const listing = new ListObjectsV2Command({ Bucket, Prefix, MaxKeys: 1 });
      await client.send(listing, { abortSignal }).catch(failed(abortSignal));
    },

    // A request less for each run: where nothing has changed, the pages of the listing are all that is asked for.
    isCheckedByListing: true,

    list: async ({ cursor }: ListInput, abortSignal): Promise<SourcePage> => {
      const position = readCursor(cursor);
      const listing = new ListObjectsV2Command({
        Bucket,
        Prefix,
        MaxKeys: pageKeys,
        EncodingType: 'url',
        ContinuationToken: position.token ?? undefined,
      });
      const answer = await client.send(listing, { abortSignal }).catch((error: unknown) => {
        const expired = position.token !== null && serviceAnswer(error)?.name === 'InvalidArgument';
        throw expired
          ? new SourceFailure('cursor_expired', 'The source no longer knows the position in its listing.')
          : s3Failure(error, abortSignal);
      });
      const listed = documentsOf(answer, scope);
      const documents = await filterInTurns(listed, ({ ref }) => isInScope(ref), abortSignal);
      const more = answer.IsTruncated === true;
      const cut = more && position.page >= maxPages;
      return {
        documents,
        gone: [],
        next: more && !cut ? writeCursor(position, answer.NextContinuationToken) : null,
        checkpoint: null,
        total: null,
        scope: 'everything',
        truncated: cut,
      };
    },

    fetch: async ({ ref, version, maxBytes }: FetchInput, abortSignal): Promise<Fetched> => {
      if (!isInScope(ref)) {
        return { kind: 'gone' };
      }
      if (!canBeRequested(ref)) {
        return { kind: 'skipped', code: 'not_a_document' };
      }
      const IfNoneMatch = etagOf(version) ?? undefined;
      let answer: GetObjectCommandOutput;
      try {
        answer = await client.send(new GetObjectCommand({ Bucket, Key: ref, IfNoneMatch }), { abortSignal });
      } catch (error) {
        return outcomeOf(error) ?? failed(abortSignal)(error);
      }
      const content = await readContent(answer, maxBytes).catch((error: unknown) => {
        throw requestFailure(error, abortSignal);
      });
      return content === null
        ? { kind: 'skipped', code: 'too_large' }
        : {
            kind: 'content',
            content,
            mediaType: answer.ContentType ?? null,
            version: versionOf(answer.ETag, answer.LastModified),
          };
    },

    exists: async (ref, abortSignal) => {
      if (!isInScope(ref) || !canBeRequested(ref)) {
        return false;
      }
      try {
        await client.send(new HeadObjectCommand({ Bucket, Key: ref }), { abortSignal });
        return true;
      } catch (error) {
        const answer = serviceAnswer(error);
        // Also for a key that may not read the object, or is not to know that there is none.
        if (answer?.status === 403) {
          return isListed(ref, abortSignal);
        }
        return isGone(answer) ? false : failed(abortSignal)(error);
      }
    },

    close: () => {
      client.destroy();
      return Promise.resolve();
    },
  };
}

/** Every setting that the SDK would otherwise look for in the environment or in files of the machine is given. */
function createClient(scope: S3Scope, { fetch, credential }: S3Access): S3Client {
  return new S3Client({
    endpoint: scope.endpoint,
    region: scope.region,
    forcePathStyle: scope.path_style,
    credentials: {
      accessKeyId: credential.access_key_id,
      secretAccessKey: credential.secret_access_key,
      ...(credential.session_token === undefined ? {} : { sessionToken: credential.session_token }),
    },
    requestHandler: fetchHandler(fetch),
    // The workflow tries again.
    maxAttempts: 1,
    retryMode: 'standard',
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    useArnRegion: false,
    disableS3ExpressSessionAuth: true,
    disableMultiregionAccessPoints: true,
    defaultsMode: 'standard',
    userAgentAppId: 'connector',
  });
}

function documentsOf(answer: ListObjectsV2CommandOutput, scope: S3Scope) {
  const keys = keysOf(answer);
  if (keys.length > pageKeys) {
    throw new SourceFailure('source_invalid', 'The source lists more keys in a page than were requested.');
  }
  return keys
    .map(({ object, key }) => listedObject(object, key, scope))
    .filter((document) => document !== null);
}

function keysOf(answer: ListObjectsV2CommandOutput) {
  // A page of another server, such as one for signing in, must not look like an empty bucket.
  if (answer.IsTruncated === undefined) {
    throw new SourceFailure('source_invalid', 'An answer of the source is not the one of an S3 service.');
  }
  const encoded = answer.EncodingType === 'url';
  return (answer.Contents ?? []).map((object) => ({ object, key: decodeKey(object.Key ?? '', encoded) }));
}

/** In a bucket with versions a deleted object has a marker as its last version; some servers answer it with 405. */
function isGone(answer: ServiceAnswer | null): boolean {
  const isMarked = answer?.status === 405 && answer.headers.get('x-amz-delete-marker') === 'true';
  return isMarked || (answer?.status === 404 && answer.name !== 'NoSuchBucket');
}

/** What an error says about one object, where it concerns no more than that. */
function outcomeOf(error: unknown): Fetched | null {
  const answer = serviceAnswer(error);
  if (answer?.status === 304) {
    return { kind: 'unchanged' };
  }
  if (isGone(answer)) {
    return { kind: 'gone' };
  }
  return answer?.status === 403 && (answer.name === 'AccessDenied' || answer.name === 'InvalidObjectState')
    ? { kind: 'skipped', code: 'forbidden_by_source' }
    : null;
}

async function readContent(answer: GetObjectCommandOutput, maxBytes: number): Promise<Buffer | null> {
  const body = answer.Body as (AsyncIterable<Uint8Array> & { destroy(): void }) | undefined;
  // What is stored compressed has another length after inflation.
  if (answer.ContentEncoding === undefined && (answer.ContentLength ?? 0) > maxBytes) {
    body?.destroy();
    return null;
  }
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of body ?? []) {
    length += part.byteLength;
    if (length > maxBytes) {
      return null;
    }
    parts.push(part);
  }
  return Buffer.concat(parts, length);
}

const failed =
  (signal: AbortSignal) =>
  (error: unknown): never => {
    throw s3Failure(error, signal);
  };
