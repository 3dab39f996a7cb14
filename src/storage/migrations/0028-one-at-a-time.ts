import type { Knex } from 'knex'

/**
 * Of the jobs of one kind and subject one runs at a time, whoever claims: the database itself refuses a second one. What ran
 * beside another is taken from its worker. The endpoint's own `sender` stays for servers of the version before, which may
 * still run; nothing else reads it.
 */
export async function up(db: Knex): Promise<void> {
  await db.raw(`update jobs set claim_token = null where claim_token is not null and exists (select 1 from jobs as others
    where others.subject = jobs.subject and others.kind = jobs.kind and others.claim_token is not null and others.id < jobs.id)`)
  await db.raw('create unique index jobs_running on jobs (subject, kind) where claim_token is not null')
  // Each job stands in one of the two: a claim costs no more than before.
  await db.raw('drop index jobs_by_subject')
  await db.raw('create index jobs_waiting on jobs (subject, kind) where claim_token is null')
}
