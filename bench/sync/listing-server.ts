import { startHttpFake } from '#test/support/sources/http-fake.ts';
import type { SourceServer } from '#test/support/sources/source-server.ts';

export type ListedSource = Pick<SourceServer, 'slug' | 'scopeConfig' | 'credential'> & {
  origin: string;
  stop(): Promise<void>;
};

const pageKeys = 1_000;
/** Longer than a document may be: none is fetched. */
const tooLong = 1_073_741_824;

/** A bucket that only lists: a run over it shows what a listing costs. */
export async function startListingServer(objects: number): Promise<ListedSource> {
  const fake = await startHttpFake((request) => {
    const { searchParams } = new URL(request.url);
    const from = Number(searchParams.get('continuation-token') ?? 0);
    const count = Math.min(Number(searchParams.get('max-keys') ?? pageKeys), objects - from);
    const next = from + count;
    const keys = Array.from({ length: count }, (_, n) => contentOf(from + n)).join('');
    const rest =
      next < objects
        ? `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`
        : '<IsTruncated>false</IsTruncated>';
    return new Response(
      `<?xml version="1.0"?><ListBucketResult><Name>listed</Name><KeyCount>${count}</KeyCount>${rest}${keys}</ListBucketResult>`,
      { headers: { 'content-type': 'application/xml' } },
    );
  });
  const { origin } = fake;
  const value = { kind: 'access_key', access_key_id: 'AKLISTED', secret_access_key: 'listed' } as const;
  return {
    slug: 's3',
    scopeConfig: { endpoint: origin, bucket: 'listed' },
    credential: { origin, value },
    origin,
    stop: () => fake.stop(),
  };
}

function contentOf(n: number): string {
  const key = `folder-${Math.floor(n / pageKeys)}/object-${n}.bin`;
  const etag = `&quot;${n.toString(16).padStart(32, '0')}&quot;`;
  return `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>${etag}</ETag><Size>${tooLong}</Size></Contents>`;
}
