-- A ledger as schema 1 had it, written by the last Yesgate that knew no other. Never change it.
-- One question that ran, one that was denied, one with a yes that was not used, and one reviewed tool.
-- Its tables come in the order of the alphabet, not in that of their references.
PRAGMA foreign_keys = OFF;
PRAGMA application_id = 1497715527;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE audit (
         sequence INTEGER PRIMARY KEY,
         intent   TEXT REFERENCES intent (id),
         event    TEXT NOT NULL,
         body     TEXT NOT NULL,
         hash     BLOB NOT NULL
     ) STRICT;
INSERT INTO "audit" VALUES(1,'intent_0000008000002000','opened','{"at":"2027-01-15T08:00:00Z","caller":{"client":"host","org":"acme","principal":"ada"},"class":"dangerous","definition":"ab4b4d06c712b525fb206509daf7a1f1564c048b9780ccd3ae46ceac0f5e22ba","digest":"e99bd4ead019c75eb2bc0fd8256bbd0f590fe589a86b3b6e3a17f1312ac60546","event":"opened","intent":"intent_0000008000002000","least":"relayed","rule":null,"server":"billing","tool":"upgrade_plan"}',X'B705C9B62F197C6C6C7BE2DF5F6E6E826C8F14092CE82CA16EBB150E654452A2');
INSERT INTO "audit" VALUES(2,'intent_0000008000002000','token_issued','{"at":"2027-01-15T08:00:00Z","event":"token_issued","intent":"intent_0000008000002000"}',X'D17D71103CD79D59C036D25C3D513470CEC06FBACA8A2A8C10365A4E824DB9E9');
INSERT INTO "audit" VALUES(3,'intent_0000008000002000','approved','{"assurance":"local","at":"2027-01-15T08:00:00Z","by":"ada at the command line","event":"approved","intent":"intent_0000008000002000"}',X'32C0C9617441E82FE4E99C3E13685A8461730CA88B5D0C205CBDE55AB14ADFE4');
INSERT INTO "audit" VALUES(4,'intent_0000008000002000','redeemed','{"at":"2027-01-15T08:00:00Z","boot":"boot_040g2081040g2081","event":"redeemed","intent":"intent_0000008000002000"}',X'8F497D1A3E8FF7270512DCC7BBDC7D8177482F5F06B87E0E2787235A1077B480');
INSERT INTO "audit" VALUES(5,'intent_0000008000002000','finished','{"at":"2027-01-15T08:00:00Z","event":"finished","intent":"intent_0000008000002000","outcome":"ok"}',X'A8EBBABB2E919F6A685A62F9AB0D52BC80E680DAD8DAC73668ADC4FEE1A761B8');
INSERT INTO "audit" VALUES(6,'intent_000000g000004000','opened','{"at":"2027-01-15T08:00:00Z","caller":{"client":"host","org":"acme","principal":"ada"},"class":"dangerous","definition":"ab4b4d06c712b525fb206509daf7a1f1564c048b9780ccd3ae46ceac0f5e22ba","digest":"00954b10876f2483dc617fa42a4c74ea4c7e021c1d1347d0199c6cc4cd7306a9","event":"opened","intent":"intent_000000g000004000","least":"relayed","rule":null,"server":"billing","tool":"upgrade_plan"}',X'D13D6CB9D0BB7F1348CCB62344DD9185812C588AC63C5E26C27DF07368F26EB1');
INSERT INTO "audit" VALUES(7,'intent_000000g000004000','token_issued','{"at":"2027-01-15T08:00:00Z","event":"token_issued","intent":"intent_000000g000004000"}',X'A5FFA55E685C457BBE5FBBCBF38FBFCC11C2716E6604B479E3E42E1E53432722');
INSERT INTO "audit" VALUES(8,'intent_000000g000004000','denied','{"at":"2027-01-15T08:00:00Z","by":"ada at the command line","event":"denied","intent":"intent_000000g000004000","reason":null}',X'F8668DFA3DFF1D0F94A3C22E620E66576573E6E0A55658C1C468B815A35136F0');
INSERT INTO "audit" VALUES(9,'intent_000000r000006000','opened','{"at":"2027-01-15T08:00:00Z","caller":{"client":"host","org":"acme","principal":"ada"},"class":"dangerous","definition":"5f5a7538b2d78a48e1a0e2e7139a5811aba18b6baf3494a5618d3c2f000f89bb","digest":"07209b28a31ecd4fd2273661e33f3a38f8786dbb04df550f659d2a23d8a75d70","event":"opened","intent":"intent_000000r000006000","least":"relayed","rule":null,"server":"billing","tool":"delete_plan"}',X'3952DD6EB81B5DACF4FD446E1F8055B1FADC9A8E4DD9C02A2AEF4839CABCFCA6');
INSERT INTO "audit" VALUES(10,'intent_000000r000006000','token_issued','{"at":"2027-01-15T08:00:00Z","event":"token_issued","intent":"intent_000000r000006000"}',X'28BD7E5CCBD2844677290A2396EC27A85655FDCD556C5AC617329AAF3162F100');
INSERT INTO "audit" VALUES(11,'intent_000000r000006000','approved','{"assurance":"local","at":"2027-01-15T08:00:00Z","by":"ada at the command line","event":"approved","intent":"intent_000000r000006000"}',X'99A8A32A0797929F395B6AD1A5DAE54DF2DA58F560932D52CFC7A53439517AFC');
INSERT INTO "audit" VALUES(12,NULL,'pinned','{"at":"2027-01-15T08:00:00Z","by":"ada","class":"read-only","definition":"37613607fec9b31b46e11bdbda1a80cd239d693c7df88d4fd5adec2d86ef9886","event":"pinned","server":"billing","tool":"get_plan"}',X'4B0359BD6CC14D00197D4599C04E81C04BD6FCF52F6B3092AE73A32DFFF641CB');
CREATE TABLE head (
         only     INTEGER PRIMARY KEY CHECK (only = 1),
         sequence INTEGER NOT NULL,
         hash     BLOB    NOT NULL,
         time     INTEGER NOT NULL
     ) STRICT;
INSERT INTO "head" VALUES(1,12,X'4B0359BD6CC14D00197D4599C04E81C04BD6FCF52F6B3092AE73A32DFFF641CB',1800000000000000000);
CREATE TABLE intent (
         number        INTEGER PRIMARY KEY,
         id            TEXT    NOT NULL UNIQUE,
         version       INTEGER NOT NULL,
         slot          BLOB    NOT NULL,
         digest        BLOB    NOT NULL,
         token_hash    BLOB,
         state         TEXT    NOT NULL,
         server        TEXT    NOT NULL,
         identity      BLOB    NOT NULL,
         decide_by     INTEGER NOT NULL,
         run_by        INTEGER,
         boot          TEXT,
         handed_over   INTEGER NOT NULL,
         matters_until INTEGER,
         body          TEXT    NOT NULL
     ) STRICT;
INSERT INTO "intent" VALUES(1,'intent_0000008000002000',4,X'D2E9F1C90DBE53E8A4C6DDD588430A6674C4116FE6BF3F5FD505B2590D55EACA',X'E99BD4EAD019C75EB2BC0FD8256BBD0F590FE589A86B3B6E3A17F1312AC60546',X'27CCD48F9C64BCA10DB15C8618E74966DABB7D3760FC7DB0B0C5137F90DD918C','done','billing',X'E81B1383B35B7EE81F63D298FE3EDF3C175802FC873C1C3ED1D2D6FC0774967E',1800001800000000000,1800000060000000000,'boot_040g2081040g2081',0,NULL,'{"id":"intent_0000008000002000","question":{"binding":{"caller":{"org":"acme","principal":"ada","client":"host"},"server":"billing","identity":"e81b1383b35b7ee81f63d298fe3edf3c175802fc873c1c3ed1d2d6fc0774967e","method":"tools/call","tool":"upgrade_plan","definition":"ab4b4d06c712b525fb206509daf7a1f1564c048b9780ccd3ae46ceac0f5e22ba","arguments":"{\"to\":\"scale\"}","meta":"{}","mode":"execute","preview":null},"classified":{"class":"dangerous","source":"unknown"},"rule":null,"reason":null,"summary":"Upgrade acme from Pro to Scale","confirm":"simple","channel":"chat","least":"relayed","next":{},"spend":null,"standing":null,"times":{"token":"PT1M","decide":"PT30M","run":"PT1M","cool_off":"PT10M"}},"digest":"e99bd4ead019c75eb2bc0fd8256bbd0f590fe589a86b3b6e3a17f1312ac60546","asked_by":{"uid":1000,"boot":null},"state":{"done":"ok"},"opened_at":"2027-01-15T08:00:00Z","decide_by":"2027-01-15T08:30:00Z","run_by":"2027-01-15T08:01:00Z","token":"27ccd48f9c64bca10db15c8618e74966dabb7d3760fc7db0b0c5137f90dd918c","token_by":"2027-01-15T08:01:00Z","decision":{"by":"ada at the command line","surface":"human","assurance":"local","answer":"approve","reason":null,"at":"2027-01-15T08:00:00Z"},"boot":"boot_040g2081040g2081","awaited":"no","result":null,"handed_over":false,"voided_for":null}');
INSERT INTO "intent" VALUES(2,'intent_000000g000004000',2,X'D2E9F1C90DBE53E8A4C6DDD588430A6674C4116FE6BF3F5FD505B2590D55EACA',X'00954B10876F2483DC617FA42A4C74EA4C7E021C1D1347D0199C6CC4CD7306A9',X'2154C7598960360917AE773D7401083566E338094B4113D65F9D032418E64034','denied','billing',X'E81B1383B35B7EE81F63D298FE3EDF3C175802FC873C1C3ED1D2D6FC0774967E',1800001800000000000,NULL,NULL,0,1800000600000000000,'{"id":"intent_000000g000004000","question":{"binding":{"caller":{"org":"acme","principal":"ada","client":"host"},"server":"billing","identity":"e81b1383b35b7ee81f63d298fe3edf3c175802fc873c1c3ed1d2d6fc0774967e","method":"tools/call","tool":"upgrade_plan","definition":"ab4b4d06c712b525fb206509daf7a1f1564c048b9780ccd3ae46ceac0f5e22ba","arguments":"{\"to\":\"enterprise\"}","meta":"{}","mode":"execute","preview":null},"classified":{"class":"dangerous","source":"unknown"},"rule":null,"reason":null,"summary":"Upgrade acme from Pro to Scale","confirm":"simple","channel":"chat","least":"relayed","next":{},"spend":null,"standing":null,"times":{"token":"PT1M","decide":"PT30M","run":"PT1M","cool_off":"PT10M"}},"digest":"00954b10876f2483dc617fa42a4c74ea4c7e021c1d1347d0199c6cc4cd7306a9","asked_by":{"uid":1000,"boot":null},"state":"denied","opened_at":"2027-01-15T08:00:00Z","decide_by":"2027-01-15T08:30:00Z","run_by":null,"token":"2154c7598960360917ae773d7401083566e338094b4113d65f9d032418e64034","token_by":"2027-01-15T08:01:00Z","decision":{"by":"ada at the command line","surface":"human","assurance":"local","answer":"deny","reason":null,"at":"2027-01-15T08:00:00Z"},"boot":null,"awaited":"no","result":null,"handed_over":false,"voided_for":null}');
INSERT INTO "intent" VALUES(3,'intent_000000r000006000',2,X'050B200E7AF72E82A74D6B95522ED926145B5AB673EE54C76FB487B8682B3A2D',X'07209B28A31ECD4FD2273661E33F3A38F8786DBB04DF550F659D2A23D8A75D70',X'3131F5E22DDFB90C7ADBFF311D127A0B3A9026EC6566F0BDEC1A57DA7A239A75','approved','billing',X'E81B1383B35B7EE81F63D298FE3EDF3C175802FC873C1C3ED1D2D6FC0774967E',1800001800000000000,1800000060000000000,NULL,0,9223372036854775807,'{"id":"intent_000000r000006000","question":{"binding":{"caller":{"org":"acme","principal":"ada","client":"host"},"server":"billing","identity":"e81b1383b35b7ee81f63d298fe3edf3c175802fc873c1c3ed1d2d6fc0774967e","method":"tools/call","tool":"delete_plan","definition":"5f5a7538b2d78a48e1a0e2e7139a5811aba18b6baf3494a5618d3c2f000f89bb","arguments":"{}","meta":"{}","mode":"execute","preview":null},"classified":{"class":"dangerous","source":"unknown"},"rule":null,"reason":null,"summary":"Upgrade acme from Pro to Scale","confirm":"simple","channel":"chat","least":"relayed","next":{},"spend":null,"standing":null,"times":{"token":"PT1M","decide":"PT30M","run":"PT1M","cool_off":"PT10M"}},"digest":"07209b28a31ecd4fd2273661e33f3a38f8786dbb04df550f659d2a23d8a75d70","asked_by":{"uid":1000,"boot":null},"state":"approved","opened_at":"2027-01-15T08:00:00Z","decide_by":"2027-01-15T08:30:00Z","run_by":"2027-01-15T08:01:00Z","token":"3131f5e22ddfb90c7adbff311d127a0b3a9026ec6566f0bdec1a57da7a239a75","token_by":"2027-01-15T08:01:00Z","decision":{"by":"ada at the command line","surface":"human","assurance":"local","answer":"approve","reason":null,"at":"2027-01-15T08:00:00Z"},"boot":null,"awaited":"no","result":null,"handed_over":false,"voided_for":null}');
CREATE TABLE pin (
         server     TEXT NOT NULL,
         tool       TEXT NOT NULL,
         definition BLOB NOT NULL,
         class      TEXT NOT NULL,
         PRIMARY KEY (server, tool)
     ) STRICT, WITHOUT ROWID;
INSERT INTO "pin" VALUES('billing','get_plan',X'37613607FEC9B31B46E11BDBDA1A80CD239D693C7DF88D4FD5ADEC2D86EF9886','read-only');
CREATE UNIQUE INDEX intent_by_token ON intent (token_hash) WHERE token_hash IS NOT NULL;
CREATE INDEX intent_by_slot ON intent (slot, matters_until) WHERE matters_until IS NOT NULL;
CREATE INDEX intent_by_state ON intent (state);
CREATE INDEX intent_pending_until ON intent (decide_by) WHERE state = 'pending';
CREATE INDEX intent_approved_until ON intent (run_by) WHERE state = 'approved';
CREATE UNIQUE INDEX audit_one_redemption ON audit (intent) WHERE event = 'redeemed';
CREATE TRIGGER audit_is_not_rewritten BEFORE UPDATE ON audit
         BEGIN SELECT raise(ABORT, 'the audit trail is not rewritten'); END;
CREATE TRIGGER audit_is_not_shortened BEFORE DELETE ON audit
         BEGIN SELECT raise(ABORT, 'the audit trail is not shortened'); END;
COMMIT;
