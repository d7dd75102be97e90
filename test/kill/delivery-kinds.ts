import type { AuditEvent } from '#domain/foundation/events/record-event.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';
import type { Person, Place, Town } from './notified-people.ts';

/** An event to be recorded, and exactly its recipients. */
export interface Notifiable {
  event: AuditEvent;
  actor: Person;
  via: 'api' | 'workflow' | 'schedule';
  notified: ReadonlySet<string>;
}

/** The subject of an event, and the users it concerns before exclusions. */
interface Matter {
  event: AuditEvent;
  audience: Person[];
  /** The actor is notified, too. */
  notifiesActor?: true;
}

interface Scene {
  place: Place;
  /** Anybody: of the place, of another one, or of none. */
  anybody: Person;
  town: Town;
}

const reads = ({ sort, place }: Person, where: Place, what: 'space' | 'project' | 'things'): boolean =>
  sort.reads === 'all'
    ? sort.tenantRole !== undefined || place === where
    : sort.reads === what && place === where;
const changing = ({ people }: Place): Person[] => people.filter(({ sort }) => sort.changes);
const inPlace = ({ spaceId }: Place): Record<string, string> => ({ space_id: spaceId });

type Kind = (scene: Scene) => Matter;

/** Kinds that concern all users of a place. */
const deliveringAll: readonly Kind[] = [
  ({ place }) => ({
    event: {
      type: 'space.project_deleted',
      resource: { type: 'project', id: place.projectId },
      metadata: inPlace(place),
    },
    audience: place.people.filter((person) => reads(person, place, 'project')),
  }),
  ({ place }) => ({
    event: { type: 'space.deleted', resource: { type: 'space', id: place.spaceId } },
    audience: place.people,
  }),
];

/**
 * Each kind with its recipients, as the vocabulary of notifications says; none depends on earlier
 * notifications.
 */
const kinds: readonly Kind[] = [
  ({ place, anybody }) => ({
    event: {
      type: 'space.member_added',
      resource: { type: 'space', id: place.spaceId },
      metadata: { principal_id: anybody.id },
    },
    audience: reads(anybody, place, 'space') ? [anybody] : [],
  }),
  ({ place, anybody }) => ({
    event: {
      type: 'space.member_removed',
      resource: { type: 'space', id: place.spaceId },
      metadata: { principal_id: anybody.id },
    },
    audience: [anybody],
  }),
  ...deliveringAll,
  ({ place }) => ({
    event: {
      type: 'collection.deleted',
      resource: { type: 'collection', id: newId() },
      metadata: { ...inPlace(place), documents: 3 },
    },
    audience: changing(place).filter((person) => reads(person, place, 'things')),
  }),
  ({ place, anybody }) => ({
    event: {
      type: 'collection.sync_failing',
      resource: { type: 'connector', id: newId() },
      metadata: { ...inPlace(place), connector_principal_id: anybody.id },
    },
    audience: [...changing(place), anybody].filter((person) => reads(person, place, 'things')),
  }),
  ({ place, anybody }) => ({
    event: {
      type: 'space.invite_accepted',
      resource: { type: 'invite', id: newId() },
      metadata: { ...inPlace(place), invited_by: anybody.id },
    },
    audience: reads(anybody, place, 'things') ? [anybody] : [],
  }),
  ({ anybody }) => ({
    event: {
      type: 'security.session_revoked',
      resource: { type: 'session', id: newId() },
      metadata: { principal_id: anybody.id },
    },
    audience: [anybody],
    notifiesActor: true,
  }),
  ({ anybody }) => ({
    event: {
      type: 'security.role_assigned',
      resource: { type: 'principal', id: anybody.id },
      metadata: { role: 'member' },
    },
    audience: [anybody],
    notifiesActor: true,
  }),
  ({ town }) => ({
    event: { type: 'system.tenant_resumed', resource: { type: 'tenant', id: newId() } },
    audience: town.others.filter(({ sort }) => sort.name === 'governor'),
  }),
  // Not the first one, so there is no recipient.
  ({ place }) => ({
    event: {
      type: 'collection.sync_completed',
      resource: { type: 'connector', id: newId() },
      metadata: { ...inPlace(place), first: false },
      notify: false,
    },
    audience: [],
  }),
  // Named by no rule.
  ({ place }) => ({
    event: { type: 'space.updated', resource: { type: 'space', id: place.spaceId } },
    audience: [],
  }),
];

/** This share of all events is of the hall, which takes several pages. */
const hallShare = 0.04;

/** Events in order: the same for the same random numbers. The first ones notify all users of the hall. */
export function deliveriesOf(town: Town, random: () => number, count: number): Notifiable[] {
  return Array.from({ length: count }, (_, mark) => deliveryOf(town, random, deliveringAll[mark]));
}

function deliveryOf(town: Town, random: () => number, wide: Kind | undefined): Notifiable {
  const anyOf = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const place = wide !== undefined || random() < hallShare ? town.hall : anyOf(town.rooms);
  const people = [place.people, place.people, anyOf(town.rooms).people, town.others];
  const anybody = anyOf(anyOf(people));
  const { event, audience, notifiesActor } = (wide ?? anyOf(kinds))({ place, anybody, town });
  const actor = random() < 0.3 ? anybody : anyOf(anyOf(people));
  const via = anyOf(['api', 'api', 'api', 'workflow', 'schedule'] as const);
  const isLeftOut = (person: Person) => person === actor && via === 'api' && notifiesActor !== true;
  const notified = audience.filter((person) => person.sort.isDetected !== false && !isLeftOut(person));
  return { event, actor, via, notified: new Set(notified.map(({ id }) => id)) };
}
