import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { newId } from '#domain/foundation/kernel/ids.ts';

/** A user's role in a space or in the tenant, and their permissions there: by the model, not by the code. */
interface Sort {
  spaceRole?: string;
  tenantRole?: string;
  reads: 'all' | 'space' | 'project' | 'nothing';
  /** Whether it may change its space. */
  changes?: true;
  /** An active user; no other principal is ever notified. */
  isDetected?: false;
}

const sorts = {
  admin: { spaceRole: 'space_admin', reads: 'all', changes: true },
  editor: { spaceRole: 'space_editor', reads: 'all' },
  member: { spaceRole: 'space_member', reads: 'all' },
  viewer: { spaceRole: 'space_viewer', reads: 'all' },
  /** A custom role that may change the space, which includes reading the space and nothing in it. */
  steward: { spaceRole: 'steward', reads: 'space', changes: true },
  /** A custom role without read permissions. */
  clerk: { spaceRole: 'clerk', reads: 'nothing' },
  /** A clerk who is a member of the space's project. */
  envoy: { spaceRole: 'clerk', reads: 'project' },
  /** A clerk who may read everything in the tenant. */
  auditor: { spaceRole: 'clerk', tenantRole: 'auditor', reads: 'all' },
  disabled: { spaceRole: 'space_admin', reads: 'all', changes: true, isDetected: false },
  service: { spaceRole: 'space_admin', reads: 'all', changes: true, isDetected: false },
  governor: { tenantRole: 'admin', reads: 'all' },
  stranger: { tenantRole: 'member', reads: 'nothing' },
} satisfies Record<string, Sort>;

export interface Person {
  id: string;
  sort: Sort & { name: keyof typeof sorts };
  /** The space of its membership, if any. */
  place: Place | null;
}

export interface Place {
  spaceId: string;
  projectId: string;
  people: Person[];
}

export interface Town {
  /** Of more users than a page holds. */
  hall: Place;
  rooms: Place[];
  /** Governors and strangers: in no space. */
  others: Person[];
  /**
   * Service accounts that join and leave the hall: they move the borders of its pages, and change no
   * recipient.
   */
  passersBy: string[];
}

const ofSpaces = Object.entries(sorts).filter(([, sort]) => 'spaceRole' in sort);
const ofTenant = Object.entries(sorts).filter(([, sort]) => !('spaceRole' in sort));

/** Users of every sort, in turn, so that each part of a page has some of all. */
export async function createAudience(
  admin: Client,
  { tenantId, hallSize }: { tenantId: string; hallSize: number },
): Promise<Town> {
  await admin.query(
    `insert into roles (tenant_id, id, key, name, permissions) values
       ($1, uuidv7(), 'steward', 'Steward', '{spaces.update}'), ($1, uuidv7(), 'clerk', 'Clerk', '{notifications.read}')`,
    [tenantId],
  );
  const others = makePeople(ofTenant, 6, null);
  await insertPeople(admin, tenantId, others);
  const createPlace = async (size: number): Promise<Place> => {
    const place: Place = { spaceId: newId(), projectId: newId(), people: [] };
    place.people = makePeople(ofSpaces, size, place);
    await admin.query(`insert into spaces (tenant_id, id, name) values ($1, $2, 'Quay')`, [
      tenantId,
      place.spaceId,
    ]);
    await insertPeople(admin, tenantId, place.people);
    await openProject(admin, tenantId, place);
    return place;
  };
  const hall = await createPlace(hallSize);
  const rooms = [await createPlace(20), await createPlace(20), await createPlace(40)];
  const { rows } = await admin.query<{ id: string }>(
    `insert into principals (tenant_id, id, type, name)
     select $1, gen_random_uuid(), 'service_account', 'crane' from generate_series(1, 200) returning id`,
    [tenantId],
  );
  return { hall, rooms, others, passersBy: rows.map(({ id }) => id) };
}

function makePeople(among: [string, Sort][], count: number, place: Place | null): Person[] {
  return Array.from({ length: count }, (_, i) => {
    const [name, sort] = among[i % among.length]!;
    // In random order, like the service accounts, so that these join and leave within the pages.
    return { id: randomUUID(), sort: { ...sort, name: name as keyof typeof sorts }, place };
  });
}

async function insertPeople(admin: Client, tenantId: string, people: readonly Person[]): Promise<void> {
  await admin.query(
    `with person as (select * from jsonb_to_recordset($2::jsonb) as p
         (id uuid, type text, status text, space_id uuid, space_role text, tenant_role text)),
       made as (insert into principals (tenant_id, id, type, status, name) select $1, id, type, status, 'Kim' from person),
       seated as (insert into space_members (tenant_id, space_id, principal_id, role_key)
         select $1, space_id, id, space_role from person where space_role is not null)
     insert into role_assignments (tenant_id, principal_id, role_key)
       select $1, id, tenant_role from person where tenant_role is not null`,
    [
      tenantId,
      JSON.stringify(
        people.map(({ id, sort, place }) => ({
          id,
          type: sort.name === 'service' ? 'service_account' : 'user',
          status: sort.name === 'disabled' ? 'disabled' : 'active',
          space_id: place?.spaceId,
          space_role: sort.spaceRole,
          tenant_role: sort.tenantRole,
        })),
      ),
    ],
  );
}

async function openProject(
  admin: Client,
  tenantId: string,
  { spaceId, projectId, people }: Place,
): Promise<void> {
  await admin.query(
    `insert into projects (tenant_id, id, space_id, name, created_by) values ($1, $2, $3, 'Pier', $4)`,
    [tenantId, projectId, spaceId, people[0]!.id],
  );
  await admin.query(
    `insert into project_members (tenant_id, id, space_id, project_id, principal_id, role_key)
     select $1, uuidv7(), $2, $3, unnest($4::uuid[]), 'project_viewer'`,
    [tenantId, spaceId, projectId, people.filter(({ sort }) => sort.name === 'envoy').map(({ id }) => id)],
  );
}
