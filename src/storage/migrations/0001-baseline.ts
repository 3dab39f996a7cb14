import type { Knex } from 'knex'
import { createBalances } from './baseline/balances-tables.ts'
import { createCounters, createFigures, createUsage } from './baseline/counters-tables.ts'
import { createJoinPages } from './baseline/join-tables.ts'
import { createMessages } from './baseline/messages-tables.ts'
import { createPasses, setStatistics } from './baseline/passes-tables.ts'
import { createPeople } from './baseline/people-tables.ts'
import { createEvidence, createScans } from './baseline/scans-tables.ts'
import { createTemplates } from './baseline/templates-tables.ts'
import { createWallets } from './baseline/wallets-tables.ts'
import { createJobs, createWebhooks } from './baseline/webhooks-tables.ts'
import { createWorkspaces } from './baseline/workspaces-tables.ts'
import { createZones } from './baseline/zones-tables.ts'

/** Creates every table of version 0.3.0. No statement reads the clock of the database. */
export async function up(db: Knex): Promise<void> {
  await createWorkspaces(db)
  await createPeople(db)
  await createTemplates(db)
  await createPasses(db)
  await createJoinPages(db)
  await createWallets(db)
  await createScans(db)
  await createZones(db)
  await createBalances(db)
  await createMessages(db)
  await createWebhooks(db)
  await createJobs(db)
  await createEvidence(db)
  await createUsage(db)
  await createCounters(db)
  await createFigures(db)
  await setStatistics(db)
}
