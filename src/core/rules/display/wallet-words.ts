import type { SpokenLanguage } from '../../../locales/languages.ts'
import { bareTag } from './language-match.ts'

/**
 * The wallets' own labels, in the order of the English ones. A gate is that of a hall or an airport, and a departure
 * that of a train or a flight.
 */
const words: Record<SpokenLanguage, string> = {
  en: 'Venue|Doors|Starts|Ends|Gate|Section|Row|Seat|Boarding|Departure|Arrival|Terminal|Platform|Carriage|Group|Sequence|Passenger|Confirmation|Operator|Balance|Link|Hold near the reader',
  de: 'Ort|Einlass|Beginn|Ende|Gate|Block|Reihe|Platz|Einsteigen|Abreise|Ankunft|Terminal|Gleis|Wagen|Gruppe|Reihenfolge|Passagier|Buchungscode|Betreiber|Guthaben|Link|Ans Lesegerät halten',
  fr: 'Lieu|Portes|Début|Fin|Porte|Section|Rang|Place|Embarquement|Départ|Arrivée|Terminal|Quai|Voiture|Groupe|Séquence|Passager|Confirmation|Exploitant|Solde|Lien|Approchez du lecteur',
  es: 'Lugar|Puertas|Inicio|Fin|Puerta|Sección|Fila|Asiento|Embarque|Salida|Llegada|Terminal|Andén|Coche|Grupo|Secuencia|Pasajero|Confirmación|Operador|Saldo|Enlace|Acercar al lector',
  pt: 'Local|Abertura de portas|Início|Fim|Porta|Setor|Fila|Lugar|Embarque|Partida|Chegada|Terminal|Plataforma|Carruagem|Grupo|Sequência|Passageiro|Confirmação|Operador|Saldo|Ligação|Aproximar do leitor',
  it: 'Luogo|Apertura porte|Inizio|Fine|Gate|Settore|Fila|Posto|Imbarco|Partenza|Arrivo|Terminal|Binario|Carrozza|Gruppo|Sequenza|Passeggero|Conferma|Operatore|Saldo|Link|Avvicina al lettore',
  nl: 'Locatie|Deuren open|Begin|Einde|Gate|Vak|Rij|Stoel|Instappen|Vertrek|Aankomst|Terminal|Spoor|Rijtuig|Groep|Volgnummer|Passagier|Bevestiging|Vervoerder|Saldo|Link|Houd bij de lezer',
  pl: 'Miejsce wydarzenia|Otwarcie drzwi|Początek|Koniec|Bramka|Sektor|Rząd|Miejsce|Wejście na pokład|Początek podróży|Koniec podróży|Terminal|Peron|Wagon|Grupa|Kolejność|Pasażer|Potwierdzenie|Przewoźnik|Saldo|Link|Zbliż do czytnika',
  tr: 'Mekân|Kapı açılışı|Başlangıç|Bitiş|Kapı|Bölüm|Sıra|Koltuk|Biniş|Kalkış|Varış|Terminal|Peron|Vagon|Grup|Sıra numarası|Yolcu|Onay|İşletmeci|Bakiye|Bağlantı|Okuyucuya yaklaştırın',
  uk: 'Місце проведення|Вхід відкрито|Початок|Кінець|Ворота|Сектор|Ряд|Місце|Посадка|Відправлення|Прибуття|Термінал|Платформа|Вагон|Група|Черговість|Пасажир|Підтвердження|Перевізник|Баланс|Посилання|Піднесіть до зчитувача',
  ar: 'المكان|فتح الأبواب|البداية|النهاية|البوابة|القسم|الصف|المقعد|الصعود|المغادرة|الوصول|المبنى|الرصيف|العربة|المجموعة|الترتيب|المسافر|التأكيد|المشغّل|الرصيد|رابط|قرّب من القارئ',
  he: 'מקום|פתיחת דלתות|התחלה|סיום|שער|אזור|שורה|מושב|עלייה|יציאה|הגעה|טרמינל|רציף|קרון|קבוצה|מספר סידורי|נוסע|אישור|מפעיל|יתרה|קישור|יש לקרב לקורא',
  ja: '会場|開場|開始|終了|ゲート|エリア|列|座席|搭乗|出発|到着|ターミナル|ホーム|車両|グループ|順番|乗客|予約番号|運行会社|残高|リンク|リーダーにかざしてください',
  ko: '장소|입장 시작|시작|종료|게이트|구역|열|좌석|탑승|출발|도착|터미널|승강장|객차|그룹|순번|승객|예약 번호|운영사|잔액|링크|리더기에 가까이 대세요',
  zh: '地点|入场|开始|结束|闸口|区域|排|座位|登机|出发|到达|航站楼|站台|车厢|组别|序号|乘客|确认号|承运人|余额|链接|请靠近读卡器',
}

const columns = new Map(words.en.split('|').map((word, column) => [word, column]))
const rows = new Map(Object.entries(words).map(([language, row]) => [language, row.split('|')]))

/** Returns a label of the wallet in a language (BCP 47), or the English label if there is no translation. */
export function walletWord(word: string, language: string): string {
  const column = columns.get(word)
  return (column !== undefined && rows.get(bareTag(language))?.[column]) || word
}
