import type { Platform } from '../../core/contract/platform.ts'
import { apple, appleSetup } from './apple-delivery.ts'
import type { Delivery } from './delivery.ts'
import { google, googleSetup } from './google-delivery.ts'

export const deliveries: Record<Platform, Delivery> = { apple, google }

export const setups = { apple: appleSetup, google: googleSetup } satisfies Record<Platform, unknown>
