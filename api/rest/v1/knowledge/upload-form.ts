import type { Multipart } from '@fastify/multipart';
import type { FastifyRequest } from 'fastify';
import { uploadDocumentFields } from '#api/contract/knowledge.ts';
import { withIdleLimit } from '#api/plugins/arrival.ts';
import { fromIssues } from '#domain/foundation/validation/from-issues.ts';
import { DomainError, invalid } from '#domain/foundation/kernel/errors.ts';
import type { FileDescription } from '#domain/knowledge/collections/upload-content.ts';
import type { UploadedFile } from './receive-file.ts';

/** One file and three fields; one more of each is read, so that its refusal can say what is wrong. */
const limits = { files: 2, fields: 8, parts: 10, fieldSize: 65_536, fieldNameSize: 100, headerPairs: 32 };

/**
 * A form up to the beginning of its file; the fields after it are read by `describe`.
 * @throws `invalid_request`, `unknown_parameter`, `request_timeout`
 */
export async function openForm(
  request: FastifyRequest,
  options: { maxBytes: number; idleMs: number },
): Promise<UploadedFile> {
  const { maxBytes, idleMs } = options;
  // One byte more, so that a longer file is noticed and not cut.
  const parsed = request.parts({ limits: { ...limits, fileSize: maxBytes + 1 } });
  const parts = wellFormed(withIdleLimit(parsed, idleMs));
  const fields = new Map<string, unknown>();
  for (let next = await parts.next(); next.done !== true; next = await parts.next()) {
    const part: Multipart = next.value;
    if (part.type === 'file') {
      return {
        source: wellFormed(withIdleLimit(part.file[Symbol.asyncIterator](), idleMs)),
        describe: async () => {
          for await (const later of { [Symbol.asyncIterator]: () => parts }) {
            take(fields, later);
          }
          return describe(fields, part);
        },
      };
    }
    take(fields, part);
  }
  throw invalid('file', 'The form has no file.');
}

function take(fields: Map<string, unknown>, part: Multipart): void {
  if (part.type === 'file') {
    throw invalid('file', 'The form must have one file, not several.');
  }
  if (fields.has(part.fieldname) || part.fieldnameTruncated || part.valueTruncated) {
    throw invalid(part.fieldname.slice(0, 100), 'A field of the form is too long, or comes twice.');
  }
  fields.set(part.fieldname, part.value);
}

function describe(
  fields: Map<string, unknown>,
  file: { filename: string | undefined; mimetype: string },
): FileDescription {
  const metadata = fields.get('metadata');
  const given = {
    ...Object.fromEntries(fields),
    ...(typeof metadata === 'string' ? { metadata: parseJson(metadata) } : {}),
  };
  const { data, error } = uploadDocumentFields.safeParse(given);
  if (error !== undefined) {
    throw fromIssues(error.issues, 'body', given);
  }
  const filename = data.filename ?? file.filename;
  if (filename === undefined) {
    throw invalid('filename', 'The file part has no name, and the form has no filename.');
  }
  return { filename, declared: data.media_type ?? file.mimetype, metadata: data.metadata ?? {} };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw invalid('metadata', 'metadata is not valid JSON.');
  }
}

/** Errors of the parser, which are faults of the form, in the one error shape. */
async function* wellFormed<T>(parts: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* parts;
  } catch (error) {
    if (error instanceof DomainError) {
      throw error;
    }
    throw new DomainError(
      'invalid_request',
      'The body is not a valid form: multipart/form-data with its boundary, one file and up to three fields.',
      {},
      { cause: error },
    );
  }
}
