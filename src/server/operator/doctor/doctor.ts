import { createStore } from '../../../storage/store.ts'
import type { Config } from '../../config.ts'
import { checkApple, type PushOptions } from './apple.ts'
import type { Check } from './check.ts'
import { checkConfiguration, checkFiles, checkPublicUrl, checkServerKey } from './configuration.ts'
import { checkDatabase, openExisting } from './database.ts'
import { checkGoogle, type GoogleOptions } from './google.ts'
import { checkIdentities } from './identities.ts'
import { checkPauses } from './pauses.ts'
import { checkWork } from './work.ts'

/** What the doctor looks at, and what it may write. */
export interface DoctorOptions {
  config: Config
  clock?: () => Date
  /** Where the platforms are; their own addresses by default. */
  apns?: PushOptions
  google?: Pick<GoogleOptions, 'endpoints'>
  /** Makes a class at Google, which stays there, to see whether Google takes one. */
  canWrite?: boolean
  /** Counts everything anew, and corrects what the counters of lists and figures say. */
  canRecount?: boolean
}

/** Looks at everything that a server needs, with the configuration that it would start with; corrects counts if it may. */
export async function diagnose(options: DoctorOptions): Promise<Check[]> {
  const { config, clock = () => new Date(), apns, google, canWrite = false, canRecount = false } = options
  const database = openExisting(config)
  try {
    const publicUrl = await checkPublicUrl(config, clock)
    const { checks, isCurrent } = await checkDatabase({ config, database, clock, httpSkew: publicUrl.skew, canRecount })
    const usable = isCurrent ? database : undefined
    return [
      ...(await checkConfiguration(config)),
      ...checks,
      ...(await checkServerKey(config, usable)),
      ...(await checkFiles(config)),
      ...(await checkApple(config, clock(), apns)),
      ...(await checkGoogle(config, { ...google, store: usable && createStore(usable), canWrite, clock })),
      ...(await checkIdentities(config, usable && createStore(usable), clock())),
      ...(await checkPauses(config)),
      ...publicUrl.checks,
      ...(await checkWork(usable, clock())),
    ]
  } finally {
    await database?.close()
  }
}
