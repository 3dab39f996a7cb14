import { deskLanguage } from './language.ts'
import { mountDesk } from './page/app.tsx'

mountDesk(document.querySelector('#desk')!, await deskLanguage(navigator.languages))
