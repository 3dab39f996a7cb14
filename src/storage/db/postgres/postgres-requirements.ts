import type { Knex } from 'knex'
import { SetupError } from '../../../core/errors.ts'
import { isPostgres, rowsOf } from '../dialect.ts'

interface Facts {
  database: string
  user: string
  encoding: string
  is_read_only: boolean
  /** The schema for new tables; null if no schema of the search path exists. */
  schema: string | null
  can_create: boolean | null
  /** Whether the schema has no table of this program yet. */
  is_new: boolean
  /** The schema that pg_trgm is installed in; null if it is not installed. */
  trigram_schema: string | null
  trigrams_visible: boolean
  /** Whether this user can install pg_trgm; null if it is not available on the server. */
  can_install: boolean | null
}

/**
 * Checks that this user can migrate a PostgreSQL database and write to it. Does nothing for SQLite.
 * @throws SetupError for the first requirement that is not met
 */
export async function requireUsable(db: Knex): Promise<void> {
  if (!isPostgres(db)) return
  const [facts] = rowsOf<Facts>(db, await db.raw(FACTS))
  const unmet = findUnmet(facts!)
  if (unmet) throw new SetupError(`The database "${facts!.database}" ${unmet.why}.`, { fix: unmet.fix })
}

function findUnmet(facts: Facts): { why: string; fix: string } | undefined {
  const { database, user, encoding, schema } = facts
  if (encoding !== 'UTF8') {
    return {
      why: `has the encoding ${encoding}, but passes requires UTF8`,
      fix: 'create another database: createdb --encoding=UTF8 --template=template0 NAME',
    }
  }
  if (facts.is_read_only) {
    return {
      why: 'is read-only',
      fix: 'connect to the primary server, and check default_transaction_read_only of the database and the user',
    }
  }
  if (!facts.can_create) {
    return {
      why: `does not let the user "${user}" create tables in ${schema === null ? 'any schema' : `the schema "${schema}"`}`,
      fix: `as the owner of the database, run: grant create on schema ${schema ?? 'public'} to "${user}"`,
    }
  }
  if (!facts.is_new) return undefined
  if (facts.trigram_schema !== null) {
    if (facts.trigrams_visible) return undefined
    const path = `${schema}, ${facts.trigram_schema}`
    return {
      why: `has the extension pg_trgm in the schema "${facts.trigram_schema}", which is not in the search path`,
      fix: `run: alter role "${user}" in database "${database}" set search_path = ${path}`,
    }
  }
  if (facts.can_install === null) {
    return {
      why: 'is on a server without the extension pg_trgm',
      fix: 'install the contrib modules of PostgreSQL on the server (in some distributions, postgresql-contrib)',
    }
  }
  if (facts.can_install) return undefined
  return {
    why: `does not let the user "${user}" create the extension pg_trgm`,
    fix: 'as a superuser, run this in the database: create extension pg_trgm',
  }
}

const FACTS = `select current_database() as database, current_user as "user", getdatabaseencoding() as encoding,
  current_setting('transaction_read_only') = 'on' as is_read_only,
  current_schema() as schema, has_schema_privilege(current_schema(), 'create') as can_create,
  to_regclass('migrations') is null as is_new,
  trigrams.schema as trigram_schema, trigrams.schema = any(current_schemas(true)) as trigrams_visible,
  (select bool_or(rolsuper or not superuser or (trusted and has_database_privilege(current_database(), 'create')))
    from pg_available_extension_versions, pg_roles where name = 'pg_trgm' and rolname = current_user) as can_install
  from (select) as one left join (select nspname as schema from pg_extension
    join pg_namespace on pg_namespace.oid = extnamespace where extname = 'pg_trgm') as trigrams on true`
